"""After the step, the same checks over git's diff: a shell's writes, or those of an agent without hooks (D6, A10, A14).

Every changed file is in the log afterwards. What must not be there is told as findings: the gates scope and secrets
judge the commit in any case; what a role may not write is judged here alone.
"""

from collections.abc import Callable, Iterable, Sequence

from damascus.domain.ports import ChangedFile, Finding, GateName
from damascus.domain.verdict import Verdict
from damascus.writes.bounds import path_refusal, role_findings, shown
from damascus.writes.checks import Checks
from damascus.writes.log import Origin, WriteEntry, WriteLog, digest, read
from damascus.writes.proposal import Proposal, ProposedChange
from damascus.writes.refusal import RefusedWrite

GIT = "git"
Logged = Callable[[int, ProposedChange], None]


def nobody(number: int, change: ProposedChange) -> None:
    """Nobody wants to know."""


def changes(
    changed: Iterable[ChangedFile], old: Callable[[str], bytes | None], new: Callable[[str], bytes | None]
) -> list[ProposedChange]:
    """git's list of changed files with their contents."""
    return [
        ProposedChange(
            file.path,
            old(file.path) if file.status != "A" else None,
            new(file.path) if file.status != "D" else None,
        )
        for file in changed
    ]


def check_diff(
    log: WriteLog, origin: Origin, checks: Checks, changed: Sequence[ProposedChange], logged: Logged = nobody
) -> list[Finding]:
    """Log what no tool call told of, and find what may not be there. `logged` is told each new entry's number."""
    known = {(entry.path, entry.after) for entry in read(log.folder) if entry.verdict != "refused"}
    unknown = [change for change in changed if (shown(change.path), digest(change.after)) not in known]
    refused = {change.path: refusal for change in unknown if (refusal := _secret(checks, change))}
    for change in unknown:
        logged(_record(log, origin, checks, change, refused.get(change.path)), change)
    paths = [change.path for change in changed]
    return [*_scope(checks, paths), *role_findings(checks.bounds, paths), *_secrets(refused)]


def _secret(checks: Checks, change: ProposedChange) -> RefusedWrite | None:
    try:
        if change.after is not None:
            checks.no_secret(Proposal(change.path, change.before, change.after))
    except RefusedWrite as refused:
        return refused
    return None


def _record(log: WriteLog, origin: Origin, checks: Checks, change: ProposedChange, refused: RefusedWrite | None) -> int:
    entry = WriteEntry.of(change, GIT, origin, accepted=change.path in checks.bounds.accepted)
    told = {"check": refused.check, "reason": refused.reason} if refused else {}
    number = log.add(entry.model_copy(update={"approved": "policy", **told}))
    if refused is None:
        log.keep(change.before)
        log.keep(change.after)
    return number


def _scope(checks: Checks, paths: list[str]) -> list[Finding]:
    bounds = checks.bounds
    refused = {shown(path): why for path in paths if (why := path_refusal(path, bounds.scope, bounds.protected))}
    if not refused:
        return []
    listed = "; ".join(f"{path} ({why})" for path, why in refused.items())
    message = f"changed what the story may not write: {listed}. Take these changes back."
    return [Finding(gate=GateName.SCOPE, verdict=Verdict.SCOPE_VIOLATION, message=message, paths=list(refused))]


def _secrets(refused: dict[str, RefusedWrite]) -> list[Finding]:
    if not refused:
        return []
    message = "; ".join(dict.fromkeys(each.reason for each in refused.values()))
    return [
        Finding(
            gate=GateName.SECRETS,
            verdict=Verdict.SECRET_FOUND,
            message=message,
            paths=[shown(path) for path in refused],
        )
    ]
