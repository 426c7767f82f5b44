"""Gate scope: every changed path is in the story's scope, by git's word; what judges the work is never in it.

What a story adds must be a plain file to everybody: no name that git or a file system takes for something else, no two
names that are one elsewhere, nothing that `git fsck --strict` objects to, no code that a person reads in another order
than its compiler. What the base has already is left alone.
"""

import posixpath
import re

from damascus.domain.ids import Sha
from damascus.domain.names import folding_together, special
from damascus.domain.ports import Candidate, ChangedFile, Evidence, Finding, Gate, GateName, GateResult
from damascus.domain.scope import Scope
from damascus.domain.verdict import Kind, Verdict
from damascus.gates.docs_only import changed_code
from damascus.git.mirror import Mirror
from damascus.git.strict import faults, needs_look
from damascus.stacks import stack_of
from damascus.tasks.planned import graph_faults
from damascus.writes.bounds import kept_from, path_refusal, shown

OBEYED = re.compile(
    r"\.claude|\.cursor|\.vscode|\.idea|\.husky|\.devcontainer|\.zed|\.fleet|\.codex|\.opencode|\.gemini|\.aider.*|"
    r"claude(\.local)?\.md|agents\.md|gemini\.md|\.cursorrules|\.windsurfrules|\.clinerules|\.mcp\.json|opencode\.json|"
    r"\.envrc|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.cjs|pip\.conf|\.pypirc|"
    r"sitecustomize\.py|usercustomize\.py|.+\.pth|.+\.code-workspace",
    re.IGNORECASE,
)
FAULTS_TOLD = 20
SYMLINK, GITLINK = "120000", "160000"
DIRECTIONS = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates of the writing direction. Plain marks, which prose needs, turn no order around."""


class ScopeGate(Gate):
    name = GateName.SCOPE
    again_at_review = True

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        refused = {file.path: why for file in candidate.changed if (why := _refusal(candidate, file))}
        refused = refused or _twins(candidate) or self._unsound(candidate)
        refused = refused or _turned_around(candidate) or changed_code(candidate)
        findings = [_finding(refused)] if refused else _of_a_plan(candidate)
        summary = f"{len(refused)} of {len(candidate.changed)} changed paths refused"
        evidence = Evidence(gate=self.name, tree=candidate.tree, summary=summary)
        return GateResult(gate=self.name, findings=findings, evidence=[evidence])

    def _unsound(self, candidate: Candidate) -> dict[str, str]:
        odd = [file.path for file in candidate.changed if file.status != "D" and needs_look(file.path, file.mode)]
        found = faults(self._mirror.git, candidate.base, candidate.commit) if odd else []
        return {path: "; ".join(found) for path in odd} if found else {}


def _twins(candidate: Candidate) -> dict[str, str]:
    """Two names that are one where case or the form of letters does not count."""
    added = [file.path for file in candidate.changed if file.status == "A"]
    twins = folding_together(added, candidate.files(candidate.commit)) if added else {}
    return {path: f"the same name as {shown(other)} on other file systems" for path, other in twins.items()}


def _turned_around(candidate: Candidate) -> dict[str, str]:
    """Code that shows one thing and runs another, by characters that change the order in which it is shown."""
    code = [file.path for file in candidate.changed if file.status != "D" and stack_of(file.path) is not None]
    why = "a character that changes the order in which code is shown, so that it reads otherwise than it runs"
    return {path: why for path in code if _directions(candidate, candidate.commit, path, candidate.base)}


def _directions(candidate: Candidate, now: Sha, path: str, before: Sha) -> bool:
    found, known = (
        len(DIRECTIONS.findall((candidate.read(at, path) or b"").decode("utf-8", errors="replace")))
        for at in (now, before)
    )
    return found > known


def _finding(refused: dict[str, str]) -> Finding:
    listed = "; ".join(f"{shown(path)} ({why})" for path, why in refused.items())
    message = f"changed what the story may not write: {listed}. Take these changes back."
    return Finding(
        gate=GateName.SCOPE, verdict=Verdict.SCOPE_VIOLATION, message=message, paths=list(map(shown, refused))
    )


def _of_a_plan(candidate: Candidate) -> list[Finding]:
    """Main may have moved since the planner's graph was checked: what lands can be worked off."""
    if candidate.spec.kind is not Kind.PLAN:
        return []
    name = candidate.config.tasks.graph
    found = graph_faults(candidate.read(candidate.commit, name), name, candidate.read(candidate.base, name))
    message = f"the task graph has faults: {'; '.join(found[:FAULTS_TOLD])}"
    return [Finding(gate=GateName.SCOPE, verdict=Verdict.PLAN_FAULTY, message=message, paths=[name])] if found else []


def _refusal(candidate: Candidate, file: ChangedFile) -> str:
    """Why this path may not be in the diff; "" if it may."""
    if why := path_refusal(file.path, candidate.scope, kept_from(candidate.spec, candidate.config)):
        return why
    if file.status == "A" and (why := special(file.path) or _obeyed(file.path, candidate.scope)):
        return why
    if file.mode == GITLINK:
        return "a nested repository"
    if file.mode == SYMLINK and file.status != "D":
        return _link_refusal(candidate, file.path)
    return ""


def _obeyed(path: str, scope: Scope) -> str:
    """Agents, editors, shells and package managers do what such a file says: a scope that only covers its folder does
    not mean it."""
    found = next((part for part in path.split("/") if OBEYED.fullmatch(part)), "")
    named = any(found in entry for entry in scope.patterns)
    return f"{found} is obeyed by tools by its name; the scope must name it" if found and not named else ""


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
