"""What surrounds a program with a model, whichever program it is."""

from pathlib import Path

import pytest

from damascus.agents.surroundings import Surroundings
from damascus.domain.ports import Watch
from damascus.gateway.bridge import WayOut
from damascus.gateway.upstream import Gateway
from damascus.system import process
from damascus.system.sandbox import Level
from tests.contracts.agent_contract import a_brief, never
from tests.levels import need


def touched(tmp_path: Path, level: Level, *, read_only: bool) -> bool:
    """Could a program in this cage write into its workspace?"""
    workspace, brief = tmp_path / "workspace", tmp_path / "brief.json"
    workspace.mkdir()
    brief.write_text("{}")
    watch = Watch(
        "do it", brief, tmp_path / "report.json", tmp_path / "transcript", 30, never, lambda _: None,
        read_only=read_only,
    )  # fmt: skip
    way = WayOut(tmp_path / "way", Gateway("http://127.0.0.1:9", ""), None)
    try:
        with Surroundings.of(tmp_path / "homes", a_brief(), workspace, watch, level, keeps_home=False) as around:
            cage = around.cage(Path("/bin/sh"), "/usr/bin:/bin", way)
            done = process.run(
                ["/bin/sh", "-c", "cat brief* >/dev/null 2>&1; ls . && touch mark"],
                cwd=workspace, env={"PATH": "/usr/bin:/bin"}, log=tmp_path / "log", timeout=30, cage=cage,
            )  # fmt: skip
    finally:
        way.close()
    assert (done.exit_code == 0) is (workspace / "mark").exists(), done.tail
    return (workspace / "mark").exists()


@pytest.mark.req("F3")
@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
def test_a_role_that_writes_nothing_can_only_read_its_workspace(tmp_path: Path, level: Level) -> None:
    assert touched(tmp_path, need(level), read_only=True) is False


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
def test_a_role_that_writes_does(tmp_path: Path, level: Level) -> None:
    assert touched(tmp_path, need(level), read_only=False) is True
