"""Breaking changes: which a spec permits (`may_break`), and which nobody may (`[contracts] stable`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope
from damascus.gates.contracts.look import LookAtContracts

TOLD = 20
PUT_BACK = "Keep what others rely on and add the new beside it; only the spec (may_break), a person's word, lets it go."
NEVER = "[contracts] stable names it: no spec permits that. Keep it as it is and add the new beside it."


@dataclass(frozen=True)
class Broken:
    """One breaking change of a contract: what it is, and the words by which it can be meant beside the file's path."""

    text: str
    names: tuple[str, ...] = ()


def judge_breaking(candidate: Candidate, path: str, broken: Sequence[Broken], look: LookAtContracts) -> None:
    stable = [each for each in broken if _named(candidate.config.contracts.stable, path, each)]
    rest = [each for each in broken if each not in stable]
    permitted = [each for each in rest if _named(candidate.spec.may_break, path, each)]
    refused = [each for each in rest if each not in permitted]
    if stable:
        look.refuse(f"{path} breaks a contract that is marked as stable: {_breaks_listed(stable)}. {NEVER}", path)
    if refused:
        look.refuse(f"{path} breaks who relies on it: {_breaks_listed(refused)}. {PUT_BACK}", path)
    look.notes += [f"contracts: {path}: permitted by may_break: {each.text}" for each in permitted]


def _named(entries: Sequence[str], path: str, broken: Broken) -> bool:
    return any(Scope((entry,)).allows(name) for entry in entries for name in (path, *broken.names))


def _breaks_listed(broken: Sequence[Broken]) -> str:
    more = f" and {len(broken) - TOLD} more" if len(broken) > TOLD else ""
    return "; ".join(each.text for each in broken[:TOLD]) + more
