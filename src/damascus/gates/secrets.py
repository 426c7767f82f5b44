"""Gate secrets: no added or changed line of the diff holds a secret. Comments that ask to be excused don't help."""

from damascus.domain.ports import Candidate, ChangedFile, Evidence, Finding, Gate, GateName, GateResult
from damascus.domain.verdict import Verdict
from damascus.scanning.lines import REPAIR, new_lines, places
from damascus.scanning.scan import NewLines
from damascus.scanning.scanner import ScanFailed, Scanner
from damascus.writes.bounds import shown

SIZE_LIMIT = 20_000_000


class Secrets(Gate):
    name = GateName.SECRETS

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner

    def check(self, candidate: Candidate) -> GateResult:
        try:
            files = [added for file in candidate.changed if file.status != "D" for added in _added(candidate, file)]
        except ScanFailed as err:
            return _result(candidate, [_unscanned(str(err))])
        size = sum(len(text) for file in files for _, text in file["lines"])
        if size > SIZE_LIMIT:
            return _result(candidate, [_unscanned(f"{size // 1_000_000} MB of new text are more than is scanned")])
        try:
            hits = self._scanner.scan(files) if files else []
        except ScanFailed as err:
            return _result(candidate, [_unscanned(str(err))])
        paths = list(dict.fromkeys(hit["path"] for hit in hits))
        findings = [_finding(f"secret in the diff: {places(hits)}. {REPAIR}", paths)] if hits else []
        return _result(candidate, findings, sum(len(file["lines"]) for file in files))


def _added(candidate: Candidate, file: ChangedFile) -> list[NewLines]:
    """The lines of a file that its base does not have."""
    new = candidate.read(candidate.commit, file.path)
    old = candidate.read(candidate.base, file.path) if file.status != "A" else None
    return new_lines(shown(file.path), old, new or b"")


def _unscanned(reason: str) -> Finding:
    return _finding(f"the diff could not be scanned for secrets: {reason}. Make it smaller or plainer.", [])


def _finding(message: str, paths: list[str]) -> Finding:
    return Finding(gate=GateName.SECRETS, verdict=Verdict.SECRET_FOUND, message=message, paths=paths)


def _result(candidate: Candidate, findings: list[Finding], lines: int = 0) -> GateResult:
    summary = findings[0].message if findings else f"{lines} new lines, no secret"
    return GateResult(
        gate=GateName.SECRETS,
        findings=findings,
        evidence=[Evidence(gate=GateName.SECRETS, tree=candidate.tree, summary=summary)],
    )
