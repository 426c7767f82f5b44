"""Gate scope: every changed path is in the story's scope, by git's word; what judges the work is never in it."""

import posixpath

from damascus.domain import config
from damascus.domain.ports import Candidate, ChangedFile, Evidence, Finding, GateResult
from damascus.domain.scope import CI_FOLDERS, CI_PATHS
from damascus.domain.verdict import Verdict
from damascus.gates.held_out import FOLDER

SYMLINK, GITLINK = "120000", "160000"
NAMED_ONLY = (".gitattributes", ".gitignore", ".gitmodules")


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


def shown(path: str) -> str:
    """Any file name as text: git's bytes that are no UTF-8 are escaped, as no row or report could hold them."""
    return path.encode("utf-8", errors="backslashreplace").decode()


def _refusal(candidate: Candidate, file: ChangedFile) -> str | None:
    """Why this path may not be in the diff; None if it may."""
    if shown(file.path) != file.path:
        return "a name that is not UTF-8"
    if why := _judges_the_work(candidate, file.path):
        return why
    if posixpath.basename(file.path) in NAMED_ONLY and not candidate.scope.names(file.path):
        return "only when the scope names it"
    if not candidate.scope.allows(file.path):
        return "out of scope"
    if file.mode == GITLINK:
        return "a nested repository"
    if file.mode == SYMLINK and file.status != "D":
        return _link_refusal(candidate, file.path)
    return None


def _judges_the_work(candidate: Candidate, path: str) -> str | None:
    parts = path.split("/")
    if any(part.lower() in (".git", "git~1") for part in parts):
        return "git's own"
    if path == config.FILE or path in CI_PATHS or path.startswith(CI_FOLDERS):
        return "judges the work"
    held_out = candidate.spec.acceptance
    if parts[0] == FOLDER or (held_out and f"{path}/".startswith(held_out.strip("/") + "/")):
        return "held-out tests"
    return None


def _link_refusal(candidate: Candidate, path: str) -> str | None:
    """A link may lead up and then down inside the repository; `..` after a name could pass another link."""
    target = (candidate.read(candidate.commit, path) or b"").decode("utf-8", errors="surrogateescape")
    parts = target.split("/")
    names = [n for n, part in enumerate(parts) if part not in ("..", ".", "")]
    if target.startswith("/") or not target or (names and ".." in parts[names[0] :]):
        return "a link that leaves the repository"
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if inside.split("/")[0] in ("..", ".git"):
        return "a link that leaves the repository"
    return None
