"""Which paths one agent step may write: inside the workspace, in the scope, and what its role may write (D6, F3)."""

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus import stacks
from damascus.domain.config import Config
from damascus.domain.names import gits_file, is_git
from damascus.domain.ports import Finding, GateName
from damascus.domain.roles import may_write
from damascus.domain.scope import CI_FOLDERS, CI_PATHS, HELD_OUT, SETTINGS_FILE, Scope
from damascus.domain.spec import Spec
from damascus.domain.tasks import beside
from damascus.domain.verdict import Verdict
from damascus.stacks.stack import paths
from damascus.writes.refusal import RefusedWrite

NAMED_ONLY = (".gitattributes", ".gitignore", ".gitmodules")
BESIDE_TESTS = ("features/", "fuzz/")
"""A test-author's too: scenarios and fuzz targets, of whichever stack."""
DOCS = paths(r"docs?/.*", r"[^/]*\.(?:md|rst|adoc|txt)", r"(?:README|CHANGELOG|LICENSE|CONTRIBUTING|AUTHORS|NOTICE)")


@dataclass(frozen=True)
class Bounds:
    """One step's. `accepted`: tests that a critic has accepted. `protected`: the spec; a folder ends with "/"."""

    scope: Scope
    role: str
    accepted: frozenset[str] = frozenset()
    protected: tuple[str, ...] = ()
    test_patterns: tuple[str, ...] = ()

    def check(self, path: str) -> None:
        """Raises RefusedWrite. The scope first: a role's rule is about paths in it."""
        if why := path_refusal(path, self.scope, self.protected):
            allowed = ", ".join(self.scope.patterns)
            raise RefusedWrite("scope", f"{shown(path)} may not be written ({why}). Write only: {allowed}.")
        if why := self.role_refusal(path):
            raise RefusedWrite("role", f"{path}: {why}")

    def role_refusal(self, path: str) -> str:
        is_test = stacks.is_test(path, self.test_patterns) or path.startswith(BESIDE_TESTS)
        accepted, closed = path in self.accepted, bool(self.accepted)
        return may_write(self.role, is_test=is_test, is_doc=is_doc(path), accepted=accepted, closed=closed)


def is_doc(path: str) -> bool:
    return DOCS.fullmatch(path) is not None


def role_findings(bounds: Bounds, changed: Iterable[str]) -> list[Finding]:
    """What the step's role may not have changed, by git's word: for whoever judges the diff after the step."""
    refused = {shown(path): why for path in changed if (why := bounds.role_refusal(path))}
    if not refused:
        return []
    listed = "; ".join(f"{path}: {why}" for path, why in refused.items())
    message = f"changed what the role {bounds.role} may not write: {listed} Take these changes back."
    return [Finding(gate="role", verdict=Verdict.SCOPE_VIOLATION, message=message, paths=list(refused))]


LISTED = 20


def refused_files(refused: Mapping[str, str]) -> list[Finding]:
    """What could not even be collected, by its name or its size."""
    if not refused:
        return []
    named = [f"{shown(path)} ({why})" for path, why in sorted(refused.items())[:LISTED]]
    more = f" and {len(refused) - LISTED} more" if len(refused) > LISTED else ""
    message = f"left what no story may add: {'; '.join(named)}{more}. Take it away."
    paths = [shown(path) for path in sorted(refused)[:LISTED]]
    return [Finding(gate=GateName.SCOPE, verdict=Verdict.SCOPE_VIOLATION, message=message, paths=paths)]


def kept_from(spec: Spec, config: Config) -> tuple[str, ...]:
    """What its own scope does not open to a story: its held-out tests; to a task the graph and what is beside it."""
    held_out = (f"{spec.acceptance.strip('/')}/",) if spec.acceptance else ()
    return (*held_out, *beside(spec.graph, config.tasks.graph)) if spec.graph else held_out


def path_refusal(path: str, scope: Scope, protected: tuple[str, ...] = ()) -> str:
    """Why no write of the story may touch this path, by its name alone; "" if it may."""
    parts = path.split("/")
    if shown(path) != path:
        return "a name that is not UTF-8"
    if any(is_git(part) for part in parts):
        return "git's own"
    if path == SETTINGS_FILE or path in CI_PATHS or path.startswith(CI_FOLDERS):
        return "judges the work"
    if parts[0] == HELD_OUT:
        return "held-out tests"
    if any(path == kept or (kept.endswith("/") and f"{path}/".startswith(kept)) for kept in protected):
        return "the spec or what belongs to it"
    if gits_file(posixpath.basename(path)) in NAMED_ONLY and not scope.names(path):
        return "only when the scope names it"
    return "" if scope.allows(path) else "out of scope"


def shown(path: str) -> str:
    """Any file name as text: bytes that are no UTF-8 are escaped, as no row or report could hold them."""
    return path.encode("utf-8", errors="backslashreplace").decode()


def inside(root: Path, told: object) -> str:
    """The path below `root`, as git would name it. Links are not followed: whoever leads out by one is refused."""
    if not isinstance(told, str) or not told or "\0" in told:
        raise RefusedWrite("path", "the tool names no file. Name one inside the workspace.")
    whole = os.path.normpath(os.path.join(root, told))
    below = next((whole[len(base) + 1 :] for base in _names_of(root) if whole.startswith(base + os.sep)), None)
    if below is None:
        raise RefusedWrite("path", f"{shown(told)} is outside of the workspace. Write only below {root}.")
    if link := _first_link(root, below):
        raise RefusedWrite(
            "path", f"{shown(below)} leads through the symbolic link {shown(link)}. Write to a plain path."
        )
    return below


def _names_of(root: Path) -> tuple[str, str]:
    return (os.path.normpath(root), os.path.realpath(root))


def _first_link(root: Path, below: str) -> str | None:
    parts = below.split(os.sep)
    grown = [os.sep.join(parts[: n + 1]) for n in range(len(parts))]
    return next((path for path in grown if os.path.islink(root / path)), None)
