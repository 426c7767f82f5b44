"""Gate secrets: no added or changed line of the diff holds a secret. Comments that ask to be excused don't help."""

from damascus.domain.ports import Candidate, ChangedFile, Evidence, Finding, GateResult
from damascus.domain.verdict import Verdict
from damascus.scanning.scan import NewLines
from damascus.scanning.scanner import ScanFailed, Scanner

SIZE_LIMIT = 20_000_000
BINARY_LOOK = 8_000
REPAIR = (
    "Take it out and read it from the environment or a secret store. Test data: build it at run time, or make it "
    "plainly no secret (with EXAMPLE in it)."
)


class Secrets:
    name = "secrets"

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner

    def check(self, candidate: Candidate) -> GateResult:
        files = [added for file in candidate.changed if file.status != "D" and (added := _added(candidate, file))]
        size = sum(len(text) for file in files for _, text in file["lines"])
        if size > SIZE_LIMIT:
            return _result(candidate, [_unscanned(f"{size // 1_000_000} MB of new text are more than is scanned")])
        try:
            hits = self._scanner.scan(files) if files else []
        except ScanFailed as err:
            return _result(candidate, [_unscanned(str(err))])
        places = [f"{hit['path']}:{hit['line']}: {hit['kind']}" for hit in hits]
        paths = list(dict.fromkeys(hit["path"] for hit in hits))
        findings = [_finding(f"secret in the diff: {'; '.join(places)}. {REPAIR}", paths)] if hits else []
        return _result(candidate, findings, sum(len(file["lines"]) for file in files))


def _added(candidate: Candidate, file: ChangedFile) -> NewLines | None:
    """The lines of a file that its base does not have."""
    new = candidate.read(candidate.commit, file.path)
    if not new:
        return None
    old = candidate.read(candidate.base, file.path) if file.status != "A" else None
    known = set((old or b"").splitlines())
    lines = [(n, line) for n, line in enumerate(new.splitlines(), 1) if line not in known and line.strip()]
    if not lines:
        return None
    binary = b"\0" in new[:BINARY_LOOK]
    return NewLines(path=file.path, binary=binary, lines=[(n, _text(line, binary)) for n, line in lines])


def _text(line: bytes, binary: bool) -> str:
    """Without NULs also UTF-16 reads like plain text."""
    return line.replace(b"\0", b"").decode("latin-1" if binary else "utf-8", errors="replace")


def _unscanned(reason: str) -> Finding:
    return _finding(f"the diff could not be scanned for secrets: {reason}. Make it smaller or plainer.", [])


def _finding(message: str, paths: list[str]) -> Finding:
    return Finding(gate="secrets", verdict=Verdict.SECRET_FOUND, message=message, paths=paths)


def _result(candidate: Candidate, findings: list[Finding], lines: int = 0) -> GateResult:
    summary = findings[0].message if findings else f"{lines} new lines, no secret"
    return GateResult(
        gate="secrets",
        findings=findings,
        evidence=[Evidence(gate="secrets", tree=candidate.tree, summary=summary)],
    )
