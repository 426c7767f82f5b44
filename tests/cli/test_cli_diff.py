"""`damascus diff`: what a story changes, to the byte."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.engine.shell_stories import FILES, Watched, bad, config, good, shell_story
from tests.yard import Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard(tmp_path, database_url, files=FILES, config=config('[review]\napproval = "person"\n'))
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    made.add(shell_story("one"))
    return made


def work(yard: Yard, *tries: Any) -> None:
    yard.work(Watched(yard, {"one": list(tries or [good("one")])}))


def test_a_candidate_is_shown_as_git_apply_takes_it(yard: Yard, command: Cli, tmp_path: Path) -> None:
    work(yard)
    shown = command("diff", "one")
    assert shown.code == 0 and "\x1b" not in shown.out and shown.err == ""
    assert "+echo hello one" in shown.out and shown.out.startswith("diff --git ")
    (tmp_path / "patch").write_text(shown.out)
    subprocess.run(["git", "apply", tmp_path / "patch"], cwd=yard.repo, check=True)
    assert (yard.repo / "one.sh").read_text() == "echo hello one\n"


def test_bytes_are_kept(yard: Yard, tmp_path: Path) -> None:
    """Straight from the command's own output: no text in between."""
    import os
    import sys

    agent = yard.agent(
        "import pathlib\n"
        "pathlib.Path('tests').mkdir(exist_ok=True)\n"
        "pathlib.Path('one.sh').write_bytes(b'# \\xe9 \\r\\necho hello one')\n"
        "pathlib.Path('tests/test_one.sh').write_text('# REQ-001\\ntest \"$(sh one.sh)\" = \"hello one\"\\n')\n"
    )
    yard.work(agent)
    program = Path(sys.executable).parent / "damascus"
    done = subprocess.run([program, "diff", "one"], capture_output=True, check=True, env=os.environ)
    subprocess.run(["git", "apply", "-"], cwd=yard.repo, input=done.stdout, check=True)
    assert (yard.repo / "one.sh").read_bytes() == b"# \xe9 \r\necho hello one"


def test_stat_and_json(yard: Yard, command: Cli) -> None:
    work(yard)
    assert (
        "one.sh" in (stat := command("diff", "one", "--stat").out) and "2 files changed" in stat and "+echo" not in stat
    )
    told = command("diff", "one", "--json").json
    item = yard.item("one")
    assert (told["story_id"], told["what"]) == ("one", "candidate")
    assert (told["base"], told["commit"]) == (item["base_commit"], item["candidate"])
    assert told["files"][0] == {"path": "one.sh", "status": "A", "added": 1, "removed": 0}
    assert told["patch"] == command("diff", "one").out


def test_a_landed_story_shows_what_landed(yard: Yard, command: Cli) -> None:
    work(yard)
    yard.commit({"other.txt": "meanwhile\n"}, "a person's commit")
    assert command("approve", "one").code == 0
    work(yard)
    assert yard.item("one")["phase"] == "done"
    shown = command("diff", "one")
    assert "+echo hello one" in shown.out and "other.txt" not in shown.out
    assert command("diff", "one", "--json").json["what"] == "landed"


def test_where_there_is_nothing_yet_it_says_so(yard: Yard, command: Cli) -> None:
    nothing = command("diff", "one")
    assert (nothing.code, nothing.out) == (1, "")
    assert "one has no change to show yet" in nothing.error and "damascus why one" in nothing.error
    assert "no workspace" in command("diff", "one", "--workspace").error
    assert command("diff", "nobody").code == 1


def test_an_attempt_that_was_sent_back_is_shown_as_what_it_is(yard: Yard, command: Cli) -> None:
    work(yard, bad("one"))
    assert yard.item("one")["phase"] == "blocked"
    shown = command("diff", "one")
    assert shown.code == 0 and "+echo bye" in shown.out
    assert "no candidate" in shown.error, "it is on stderr: stdout is a patch"
    assert command("diff", "one", "--json").json["what"] == "attempt"


def test_what_is_in_the_workspace_now(yard: Yard, command: Cli) -> None:
    seen: list[str] = []

    def before(brief: Any, workspace: Path) -> None:
        (workspace / "one.sh").write_text("echo half of it\n")
        seen.append(command("diff", "one", "--workspace").out)
        seen.append(command("diff", "one").error)

    yard.work(Watched(yard, {"one": [good("one")]}, before))
    assert "+echo half of it" in seen[0] and "damascus diff one --workspace" in seen[1]
    (yard.project.worktrees / "one" / "one.sh").write_text("echo by hand\n")
    assert "+echo by hand" in command("diff", "one", "--workspace").out


def test_colour_is_for_terminals(yard: Yard, command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    work(yard)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m" in command("diff", "one").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in command("diff", "one").out
