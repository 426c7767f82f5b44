"""After main was taken back, no command says that a story is on it."""

from pathlib import Path

import pytest

from damascus.cli.main import main
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    for name in ("one", "two", "three"):
        yard.add(shell_story(name))
    yard.work(Watched(yard, {name: [good(name)] for name in ("one", "two", "three")}), slots=1)
    monkeypatch.chdir(yard.repo)
    for key in ("DAMASCUS_HOME", "DAMASCUS_DATABASE_URL"):
        monkeypatch.setenv(key, yard.environ[key])
    return yard


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(list(words))
    return code, capsys.readouterr().out


RUN = ("run", "--until-idle", "--agent", "command", "--agent-command", "true")


@pytest.mark.req("X4")
def test_a_main_that_was_reset_is_told_by_every_command(yard: Yard, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = said(capsys, *RUN)
    assert code == 0 and "3 on main" in out
    lost = next(name for name in ("one", "two", "three") if yard.item(name)["merged_commit"] == yard.main())
    yard.git("reset", "-q", "--hard", "HEAD~1")
    told = f"1 done but not on main: {lost}"
    code, out = said(capsys, "status")
    assert told in out
    for _ in range(2):
        code, out = said(capsys, *RUN)
        assert code == 1 and told in out and "2 on main" in out
    assert len(yard.questions()) == 1 and lost in yard.questions()[0]
    code, out = said(capsys, "show", lost)
    assert "NOT on main any more" in out and "on main as" not in out
    other = next(name for name in ("one", "two", "three") if name != lost)
    code, out = said(capsys, "show", other)
    assert "not on main" not in out


@pytest.mark.req("X4")
@pytest.mark.parametrize("how", ["amend", "rebase", "revert", "a commit more", "gc"])
def test_honest_ways_of_moving_main_are_no_alarm(yard: Yard, capsys: pytest.CaptureFixture[str], how: str) -> None:
    """The same patch under another id, a revert that says so, and work of a person's on top."""
    said(capsys, "status")
    if how == "amend":
        yard.git("commit", "-q", "--amend", "-m", "in other words")
    elif how == "rebase":
        tip = yard.main()
        yard.git("reset", "-q", "--hard", "HEAD~2")
        yard.commit({"between.txt": "x\n"}, "between")
        yard.git("cherry-pick", f"{tip}~1", tip)
    elif how == "revert":
        yard.git("revert", "--no-edit", "HEAD")
    elif how == "a commit more":
        yard.commit({"more.txt": "x\n"}, "more")
    else:
        yard.git("gc", "-q", "--prune=now")
        yard.git("pack-refs", "--all")
    for words in (("status",), RUN):
        code, out = said(capsys, *words)
        assert code == 0 and "not on main" not in out
    assert yard.questions() == []


@pytest.mark.req("X4")
def test_a_main_that_went_back_below_what_was_proved_and_on_again(
    yard: Yard, capsys: pytest.CaptureFixture[str]
) -> None:
    """It descends from an older main that was proved; the stories since then are looked at all the same."""
    said(capsys, "status")
    yard.git("reset", "-q", "--hard", "HEAD~3")
    yard.commit({"instead.txt": "x\n"}, "instead")
    assert "3 done but not on main" in said(capsys, "status")[1]
    yard.git("reset", "-q", "--hard", yard.item("three")["merged_commit"])
    missing = said(capsys, "status")[1]
    assert "3 done but not" not in missing
