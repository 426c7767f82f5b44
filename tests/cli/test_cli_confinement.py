"""Where nothing can be confined: refused when a person asked for walls, else said in plain sight."""

import os
import stat
from contextlib import nullcontext
from pathlib import Path

import pytest

from damascus.system.sandbox import Level
from tests.cli.conftest import Cli
from tests.levels import as_if_here, need
from tests.yard import CONFIG, HONEST, Yard, story


def run(yard: Yard, cli: Cli, *flags: str) -> tuple[int, str, str]:
    ran = cli("run", "--until-idle", "--agent", "command", "--agent-command", yard.agent(HONEST), *flags)
    return ran.code, ran.out, ran.error


@pytest.mark.req("W9", "D6")
@pytest.mark.parametrize("asked", ["by a flag", "in damascus.toml"])
def test_who_requires_a_sandbox_gets_none_run_without(asked: str, yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    if asked == "in damascus.toml":
        yard.commit({"damascus.toml": f"{CONFIG}[sandbox]\nrequire = true\n"}, "walls")
    with as_if_here(Level.UNCONFINED):
        code, _, error = run(yard, cli, *(["--require-sandbox"] if asked == "by a flag" else []))
    assert code == 1
    assert "could not be confined: for a test" in error and "docs/sandbox.md" in error
    assert yard.item("S-1")["claims"] == 0, "nothing was begun"


@pytest.mark.req("W9", "D6")
def test_who_requires_a_sandbox_is_not_served_by_an_agent_inside_damascus(yard: Yard, cli: Cli) -> None:
    (yard.folder / "script.toml").write_text("")
    words = ("--agent", "scripted", "--agent-command", str(yard.folder / "script.toml"), "--require-sandbox")
    ran = cli("run", "--until-idle", *words)
    assert ran.code == 1 and "the scripted agent runs inside Damascus itself" in ran.error


@pytest.mark.req("W9", "D6")
@pytest.mark.parametrize("level", list(Level))
def test_a_run_and_its_receipt_say_how_it_was_confined(level: Level, yard: Yard, cli: Cli) -> None:
    need(level)
    if level is Level.BUBBLEWRAP:
        code, out, _ = run(yard, cli, "--require-sandbox")
        assert code == 0 and "confined by bubblewrap" in out
        return
    yard.add(story("S-1"))
    with as_if_here(level):
        code, out, error = run(yard, cli)
    assert code == 0, error
    assert ("command agent, unconfined" if level is Level.UNCONFINED else "confined by landlock") in out
    receipt = cli("receipt", "S-1", "--evidence").json
    assert set(receipt["confinement"].values()) == {level.value}
    told = [name for name in receipt["unverified"] if name.startswith("confinement")]
    assert bool(told) == (level is Level.UNCONFINED)


SET_UID = (
    HONEST
    + """
import shutil
def tried(work):
    try:
        work()
    except OSError:
        pass
shutil.copyfile("/bin/sh", "shell")
shutil.copyfile("/bin/sh", os.environ["HOME"] + "/shell")
for left in ("shell", os.environ["HOME"] + "/shell"):
    tried(lambda: os.chmod(left, 0o6755))
os.mkdir("ignored")
tried(lambda: os.chmod("ignored", 0o3777))
"""
)


@pytest.mark.req("D6")
@pytest.mark.parametrize("level", list(Level))
def test_nothing_that_an_agent_leaves_lends_its_rights(level: Level, yard: Yard, cli: Cli) -> None:
    need(level)
    yard.add(story("S-1"))
    with as_if_here(level) if level is not Level.BUBBLEWRAP else nullcontext():
        cli("run", "--until-idle", "--agent", "command", "--agent-command", yard.agent(SET_UID))
    home = yard.folder / "home"
    below = [Path(top, name) for top, folders, files in os.walk(home) for name in folders + files]
    assert any(path.name == "shell" for path in below)
    lending = [str(path) for path in below if not path.is_symlink() and path.lstat().st_mode & 0o6000]
    assert lending == []
    ours = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir() if path.is_dir()}
    assert ours and set(ours.values()) == {0o700}, ours
