"""A tiny real repository with a candidate on it, judged by the real gates in real clean checkouts."""

import io
import os
import shlex
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from damascus.domain.config import parse_config
from damascus.domain.ids import Sha, StoryId
from damascus.domain.ports import Candidate, GateResult, Job, TestRun
from damascus.domain.scope import Scope
from damascus.domain.spec import Requirement, Spec
from damascus.evidence.runner import CleanRunner
from damascus.gates.red_green import Red
from damascus.gates.requirements import Requirements
from damascus.gates.tests import Tests
from damascus.git.mirror import Mirror
from damascus.git.trees import TreeEntry
from tests.user_repository import UserRepository

PYTHON = shlex.quote(sys.executable)
PYTEST = f"{PYTHON} -m pytest -q -p no:cacheprovider tests"
UNITTEST = f"{PYTHON} -m unittest discover -s tests"
CODE = {"src.py": "def add(a, b):\n    return a + b\n"}
TEST = {"tests/test_add.py": "from src import add\n\ndef test_req_001_adds():\n    assert add(1, 2) == 3\n"}
BASE = {"README.md": "x\n", "tests/test_old.py": "def test_old():\n    assert len('a') == 1\n"}

Content = str | bytes | TreeEntry | None


def quick(checkout: Path) -> dict[str, str]:
    """The plugins of this suite would make every little pytest run half a second longer."""
    return {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@dataclass
class Judging:
    """Gates, runner and mirror around one base commit."""

    mirror: Mirror
    base: Sha
    runner: CleanRunner
    logs: Path
    jobs: list[str] = field(default_factory=list)
    checkouts: list[Path] = field(default_factory=list)
    """One for each command that was really run; the command itself can't leave a mark elsewhere."""

    @classmethod
    def of(cls, folder: Path, files: Mapping[str, str] | None = None) -> "Judging":
        repository = UserRepository.create(folder / "repo", BASE if files is None else files)
        mirror = repository.mirror(folder / "mirror.git")
        made: list[Path] = []

        def prepare(checkout: Path) -> dict[str, str]:
            made.append(checkout)
            return quick(checkout)

        runner = CleanRunner(mirror, folder / "c", prepare)
        return cls(mirror, repository.at("HEAD"), runner, folder / "logs", checkouts=made)

    def commit(self, files: Mapping[str, Content], base: Sha | None = None) -> Sha:
        changes = {path: self._entry(content) for path, content in files.items()}
        base = base or self.base
        return self.mirror.commit_tree(self.mirror.objects.edit(base, changes), [base], "a story\n")

    def _entry(self, content: Content) -> TreeEntry | None:
        if content is None or isinstance(content, TreeEntry):
            return content
        return TreeEntry("100644", self.mirror.write_blob(content.encode() if isinstance(content, str) else content))

    def candidate(
        self,
        files: Mapping[str, Content],
        *,
        command: str = PYTEST,
        config: str = "",
        **spec: object,
    ) -> Candidate:
        commit = self.commit(files)
        scope = spec.pop("scope", ("src.py", "tests/"))
        patterns = Scope(tuple(scope))  # type: ignore[arg-type]
        return Candidate(
            commit=commit,
            tree=self.mirror.tree(commit),
            base=self.base,
            changed=self.mirror.changed(self.base, commit),
            spec=Spec(StoryId("S-1"), "a story", patterns, test_command=command, **spec),  # type: ignore[arg-type]
            scope=patterns,
            config=parse_config(config),
            read=self.mirror.read,
            files=lambda treeish: self.mirror.listing(treeish).files,
            logs=self.logs,
            private_logs=self.logs / "private",
        )

    def red(self, candidate: Candidate) -> GateResult:
        return Red(self.runner, self.mirror).check(candidate)

    def tests(self, candidate: Candidate) -> GateResult:
        """Red first, as the engine does."""
        return Tests(self.runner).check(replace(candidate, red=self.red(candidate)))

    def requirements(self, candidate: Candidate, *ids: str) -> GateResult:
        needs = tuple(Requirement(ident, "a need") for ident in ids)
        asked = replace(candidate, spec=replace(candidate.spec, requirements=needs))
        return Requirements(self.runner, self.mirror).check(replace(asked, red=self.red(asked)))

    def run(self, command: str, tree: Sha | None = None, timeout: float = 30) -> TestRun:
        return self.runner.run(
            Job(tree or self.mirror.tree(self.base), command, timeout, "job", self.logs / f"{len(self.jobs)}.log")
        )


def verdicts(result: GateResult) -> list[str]:
    return [finding.verdict.value for finding in result.findings]


def told_lines(result: GateResult) -> dict[str, list[str]]:
    """By requirement."""
    found: dict[str, list[str]] = {}
    for one in result.lines:
        found.setdefault(one.requirement, []).append(one.told)
    return found


def archive(files: Mapping[str, str], executable: tuple[str, ...] = ()) -> bytes:
    """A folder as tar bytes."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            info.mode = 0o755 if path in executable else 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return target.getvalue()


def leftovers(folder: Path) -> list[str]:
    return os.listdir(folder / "c") if (folder / "c").exists() else []
