"""What judged runs showed of a task's test contract, and its one line: `TC: 3/3 pass (1 unit, 2 integration)`.

Apart from `domain.tasks`, which whoever only reads a task graph can import without the weight of a model.
"""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from damascus.domain.tasks import ContractKind


class JudgedContract(BaseModel):
    """What a judged run showed of one line of a test contract. `why` is what it lacks; "": it is met."""

    id: str
    kind: ContractKind
    file: str = ""
    tests: list[str] = Field(default_factory=list)
    """The tests that prove it; none where its own command tells counts only."""
    why: str = ""

    @property
    def met(self) -> bool:
        return not self.why


def contract_line(judged: Sequence[JudgedContract]) -> str:
    """`TC: 3/3 pass (1 unit, 2 integration)`; the kinds are of those that pass. "": there is no contract."""
    if not judged:
        return ""
    met = [one for one in judged if one.met]
    numbers = {kind: sum(one.kind is kind for one in met) for kind in ContractKind}
    kinds = ", ".join(f"{number} {kind.value}" for kind, number in numbers.items() if number)
    unmet = ", ".join(one.id for one in judged if not one.met)
    return f"TC: {len(met)}/{len(judged)} pass{f' ({kinds})' if kinds else ''}{f'; not {unmet}' if unmet else ''}"
