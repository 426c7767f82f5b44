"""Gate scope: every changed path is in the story's scope, by git's word; what judges the work is never in it."""

import posixpath

from damascus.domain.ports import Candidate, ChangedFile, Evidence, Finding, GateResult
from damascus.domain.verdict import Verdict
from damascus.writes.bounds import path_refusal, shown

SYMLINK, GITLINK = "120000", "160000"


class ScopeGate:
    name = "scope"

    def check(self, candidate: Candidate) -> GateResult:
        refused = {file.path: why for file in candidate.changed if (why := _refusal(candidate, file))}
        findings = [_finding(refused)] if refused else []
        summary = f"{len(refused)} of {len(candidate.changed)} changed paths refused"
        evidence = Evidence(gate=self.name, tree=candidate.tree, summary=summary)
        return GateResult(gate=self.name, findings=findings, evidence=[evidence])


def _finding(refused: dict[str, str]) -> Finding:
    listed = "; ".join(f"{shown(path)} ({why})" for path, why in refused.items())
    message = f"changed what the story may not write: {listed}. Take these changes back."
    return Finding(gate="scope", verdict=Verdict.SCOPE_VIOLATION, message=message, paths=list(map(shown, refused)))


def _refusal(candidate: Candidate, file: ChangedFile) -> str:
    """Why this path may not be in the diff; "" if it may."""
    held_out = candidate.spec.acceptance
    if why := path_refusal(file.path, candidate.scope, (held_out.strip("/") + "/",) if held_out else ()):
        return why
    if file.mode == GITLINK:
        return "a nested repository"
    if file.mode == SYMLINK and file.status != "D":
        return _link_refusal(candidate, file.path)
    return ""


def _link_refusal(candidate: Candidate, path: str) -> str:
    """A link may lead up and then down inside the repository; `..` after a name could pass another link."""
    target = (candidate.read(candidate.commit, path) or b"").decode("utf-8", errors="surrogateescape")
    parts = target.split("/")
    names = [n for n, part in enumerate(parts) if part not in ("..", ".", "")]
    if target.startswith("/") or not target or (names and ".." in parts[names[0] :]):
        return "a link that leaves the repository"
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if inside.split("/")[0] in ("..", ".git"):
        return "a link that leaves the repository"
    return ""
