"""What the last look found is used only while nothing has changed: every change is seen by the next command."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus import settings_on_main
from damascus.git.repository import Repository
from damascus.settings import SEEN, Settings, glance
from damascus.settings_on_main import read_settings
from tests.cli.conftest import Cli
from tests.yard import CONFIG, Yard

LOOK = """
import sys
from damascus.cli.main import main
code = main(["status"])
print([name for name in ("pydantic", "rich", "yaml") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def kept(yard: Yard) -> Path:
    (found,) = (yard.folder / "home" / SEEN).iterdir()
    return found


def test_a_second_look_needs_no_git_and_nothing_heavy(yard: Yard) -> None:
    """`status` has 0.6 s: what the first look found is not found again."""
    env = {**yard.environ, "PATH": "/nonexistent"}
    ran = subprocess.run([sys.executable, "-c", LOOK], cwd=yard.repo, env=env, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr.strip()) == (0, "[]")
    assert "main at" in ran.stdout
    kept(yard).unlink()
    ran = subprocess.run([sys.executable, "-c", LOOK], cwd=yard.repo, env=env, capture_output=True, text=True)
    assert ran.returncode != 0, "without it, git is asked"


def test_what_was_kept_is_what_would_be_read(yard: Yard) -> None:
    first = glance(yard.project.repository, yard.folder / "home", yard.environ)
    stamp = kept(yard).stat().st_mtime_ns
    again = glance(yard.project.repository, yard.folder / "home", yard.environ)
    assert again == first
    assert kept(yard).stat().st_mtime_ns == stamp, "and it was not read anew"
    assert again[0].config == first[0].config
    assert again[0].config.limits.disk_reserve_mb == 0


def test_a_commit_on_main_is_seen(yard: Yard, cli: Cli) -> None:
    assert cli("status").err == ""
    yard.commit({"damascus.toml": f"{CONFIG}colour = 1\n"}, "a wrong key")
    ran = cli("status")
    assert (ran.code, "unknown key" in ran.error) == (2, True)
    yard.git("reset", "-q", "--soft", "HEAD~1")
    assert "unknown key" in cli("status").error, "the folder's own must be valid too"
    yard.write({"damascus.toml": CONFIG})
    assert (cli("status").code, cli("status").err) == (0, "")


def test_packed_refs_are_seen(yard: Yard, cli: Cli) -> None:
    """`git pack-refs` takes the files of branches away; the main branch moves in another one then."""
    yard.git("pack-refs", "--all")
    assert cli("status").code == cli("status").code == 0
    yard.commit({"damascus.toml": "[limits]\nslots = 7\n"}, "other settings")
    yard.write({"damascus.toml": CONFIG})
    yard.git("pack-refs", "--all")
    assert "differs from main's" in cli("status").err
    assert "differs from main's" in cli("status").err


def test_a_variable_is_seen(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("status").code == 0
    monkeypatch.setenv("DAMASCUS_LIMITS_SLOTS", "many")
    ran = cli("status")
    assert (ran.code, "DAMASCUS_LIMITS_SLOTS='many'" in ran.error) == (2, True)


def test_a_repository_that_leaves_its_project_is_seen(yard: Yard, cli: Cli) -> None:
    assert cli("status").code == 0
    yard.git("config", "--remove-section", "damascus")
    assert "is not a Damascus project yet" in cli("status").error


def test_another_main_branch_is_seen(yard: Yard) -> None:
    """With no main_branch set the first of main, master, develop is taken."""

    def main() -> str:
        return glance(yard.project.repository, yard.folder / "home", yard.environ)[0].main

    yard.git("branch", "-m", "main", "develop")
    assert (main(), main()) == ("develop", "develop")
    yard.git("branch", "master")
    assert (main(), main()) == ("master", "master")


@pytest.mark.parametrize("main", ["main", "trunk"])
def test_what_changes_while_it_is_read_is_not_kept(main: str, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the old settings would be taken for those of the new commit, by every command after it."""
    yard.git("branch", "-m", "main", main)
    own = f'{CONFIG}[project]\nmain_branch = "{main}"\n'
    yard.write({"damascus.toml": own})
    yard.git("commit", "-qam", "its own main")
    kept(yard).unlink()

    def moves(repository: Repository, environ: Mapping[str, str]) -> Settings:
        found = read_settings(repository, environ)
        yard.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(settings_on_main, "read_settings", moves)
        glance(yard.project.repository, yard.folder / "home", yard.environ)
    assert not list((yard.folder / "home" / SEEN).iterdir())
    glance(yard.project.repository, yard.folder / "home", yard.environ)
    assert kept(yard).is_file(), "at rest it is"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"basis": 1}', "\xff"])
def test_what_was_kept_and_is_broken_is_read_anew(text: str, yard: Yard, cli: Cli) -> None:
    kept(yard).write_text(text, "latin-1")
    assert (cli("status").code, cli("status").err) == (0, "")
    assert "basis" in json.loads(kept(yard).read_text())


def test_where_nothing_can_be_kept_every_command_looks(yard: Yard, cli: Cli) -> None:
    kept(yard).unlink()
    (yard.folder / "home" / SEEN).rmdir()
    (yard.folder / "home" / SEEN).write_text("in the way")
    assert (cli("status").code, cli("status").err) == (0, "")
