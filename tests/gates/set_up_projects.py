"""A project with a [workspace] setup, judged: each candidate in a clean checkout that was set up by main's rules."""

from collections.abc import Mapping
from pathlib import Path

from damascus.domain.config import parse_config
from damascus.domain.ports import TestRun
from damascus.evidence.runner import CleanRunner
from damascus.git.setup import WorkspaceSetup
from damascus.system.sandbox import Level
from tests.gates.judging import Content, Judging

TIMEOUT = 120.0


class SetUpProject:
    """`made` are the checkouts that were prepared, by the commands that ran there."""

    def __init__(self, folder: Path, files: Mapping[str, str], setup: str, level: Level, env: str = "") -> None:
        self.judging = Judging.of(folder, files)
        self.level = level
        named = ", ".join(f'"{name}"' for name in env.split())
        self.config = parse_config(f"[workspace]\nsetup = {_toml(setup)}\nenv = [{named}]\n")
        mirror = self.judging.mirror
        self.setup = WorkspaceSetup(mirror, folder / "setup", folder / "repo", lambda: False, sandbox=level)
        self.judging.runner = CleanRunner(
            mirror, folder / "c", self.prepare, sandbox=level, home_of=self.setup.home_of
        )  # fmt: skip

    def prepare(self, checkout: Path) -> dict[str, str]:
        self.setup.prepare(checkout, self.judging.base, self.config)
        return {}

    def judge(self, command: str, files: Mapping[str, Content] | None = None) -> TestRun:
        tree = self.judging.mirror.tree(self.judging.commit(files)) if files else None
        return self.judging.run(command, tree, TIMEOUT)

    def told(self, command: str, files: Mapping[str, Content] | None = None) -> str:
        done = self.judge(command, files)
        assert done.exit_code == 0, done.output
        return done.output.strip()


def _toml(text: str) -> str:
    return f"'''{text}'''"
