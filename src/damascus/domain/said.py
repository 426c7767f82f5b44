"""What an agent's step said, as it was read: a claim, whoever makes it."""

from collections.abc import Iterable

from pydantic import BaseModel, Field

from damascus.domain.critique import Critique


class Said(BaseModel):
    """One report of one agent step. `claims` are the numbers and words that it claimed, `text` its prose."""

    step: str
    role: str
    round: int = 1
    subtask: str = ""
    critique: Critique | None = None
    claims: dict[str, object] = Field(default_factory=dict)
    text: str = ""


def last_words(said: Iterable[Said]) -> list[Said]:
    """Of each step and subtask what was said in its last round, in an order of its own: it does not matter in which one
    the reports were read."""
    reports = list(said)
    last: dict[tuple[str, str], int] = {}
    for one in reports:
        place = (one.step, one.subtask)
        last[place] = max(last.get(place, 0), one.round)
    kept = {one.model_dump_json(): one for one in reports if one.round == last[one.step, one.subtask]}
    return [kept[text] for text in sorted(kept)]
