"""OpenAPI descriptions: valid on the candidate, and nothing taken from who relies on the base's."""

from typing import Any

from damascus.domain.ports import Candidate
from damascus.gates.contracts import oasdiff
from damascus.gates.contracts.look import LookAtContracts
from damascus.gates.contracts.permitted import Broken, judge_breaking
from damascus.gates.contracts.reading import TOO_MUCH, ContractFiles, ask, contract_files
from damascus.gates.contracts.touched import Touched
from damascus.scanning.scanner import TooMuchToRead

ABSENT = "oasdiff is not installed"
UNREAD = "oasdiff could not read them"


def look_at_descriptions(candidate: Candidate, touched: Touched, look: LookAtContracts) -> None:
    for path in touched.openapi:
        new = contract_files(candidate, candidate.commit, path)
        old = contract_files(candidate, candidate.base, path)
        try:
            if new is not None:
                _changed(candidate, new, old, look)
            elif old is not None:
                _deleted(candidate, old, look)
        except TooMuchToRead:
            look.refuse(f"{path} {TOO_MUCH}. Make it smaller or plainer.", path)


def _changed(candidate: Candidate, new: ContractFiles, old: ContractFiles | None, look: LookAtContracts) -> None:
    path = new.path
    if new.problem:
        look.refuse(f"{path} {new.problem}.", path)
        return
    before = old if old is not None and not old.problem else None
    told = ask("look_at_description", path=path, files=new.packed(), old_files=before.packed() if before else None)
    if told["problems"]:
        look.refuse(f"{path} is no valid OpenAPI description: {'; '.join(told['problems'])}.", path)
        return
    number = len(told["operations"])
    compared = _against(candidate, told, old, look)
    look.saw.append(f"{path}: a valid OpenAPI description, {number} operations; {compared}")


def _against(candidate: Candidate, told: dict[str, Any], old: ContractFiles | None, look: LookAtContracts) -> str:
    """Says what was found, and by whom."""
    if old is None:
        return "it is new"
    path = old.path
    if "changes" not in told:
        look.not_checked(path, f"not compared with main's, which {old.problem or told['old_problem']}")
        return "not compared with main's"
    found = oasdiff.breaking(told["old"], told["document"])
    if found is not None:
        broken, warnings = found
        look.notes += [f"contracts: {path}: oasdiff warns: {text}" for text in warnings]
        by = "compared by oasdiff"
    else:
        broken = [_broken(change) for change in told["changes"]]
        for text in told["unjudged"]:
            look.not_checked(path, f"{text}, whether that breaks a client is not judged")
        by = f"compared by Damascus' own rules ({UNREAD if oasdiff.installed() else ABSENT})"
    judge_breaking(candidate, path, broken, look)
    return f"{len(broken)} breaking changes, {by}"


def _broken(change: dict[str, Any]) -> Broken:
    return Broken(f"{change['operation']}: {change['text']}".removeprefix(": "), tuple(change["names"]))


def _deleted(candidate: Candidate, old: ContractFiles, look: LookAtContracts) -> None:
    offered = [] if old.problem else ask("operations_of", path=old.path, files=old.packed())["operations"]
    broken = [Broken(f"{each}: removed with its description", (each, each.partition(" ")[2])) for each in offered]
    look.saw.append(f"{old.path}: deleted, {len(offered)} operations")
    judge_breaking(candidate, old.path, broken or [Broken("it was deleted")], look)
