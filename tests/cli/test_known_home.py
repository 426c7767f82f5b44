"""Without DAMASCUS_HOME a known project is found by what its git config names."""

import shutil
from pathlib import Path

import pytest

from damascus.app import App
from tests.cli.conftest import Cli, spec_file
from tests.yard import Yard


@pytest.fixture
def unset(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.delenv("DAMASCUS_HOME")
    return cli


def test_every_command_finds_the_data_folder(yard: Yard, unset: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert App(start=yard.repo).home == yard.app.home
    assert unset("add", spec_file(yard, "S-1")).code == 0
    monkeypatch.chdir(yard.repo / "tests")
    assert unset("-C", str(yard.repo), "init").code == 0
    for words in (["status"], ["show", "S-1"], ["inbox"], ["why", "S-1"], ["rescue", "list"], ["logs", "S-1"]):
        ran = unset(*words)
        assert "is not a Damascus project" not in ran.err and "another Damascus queue" not in ran.err, words
    assert unset("status").code == 0


def test_a_folder_with_spaces_and_quotes_is_found_too(yard: Yard, unset: Cli) -> None:
    odd = yard.folder / 'da ta; "x"'
    odd.mkdir()
    queue = yard.git("config", "damascus.queue").partition(" ")[0]
    yard.git("config", "damascus.queue", f"{queue} {odd}")
    assert App(start=yard.repo).home == odd


def test_a_variable_wins(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAMASCUS_HOME", str(yard.folder / "other"))
    assert App(start=yard.repo).home == yard.folder / "other"


def test_elsewhere_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAMASCUS_HOME", raising=False)
    assert App(start=tmp_path).home == App().home


def test_a_stale_entry_is_one_sentence(yard: Yard, unset: Cli) -> None:
    shutil.rmtree(yard.folder / "home")
    ran = unset("status")
    assert ran.code == 1
    assert f"the data folder of {yard.repo} is {yard.folder / 'home'}, which does not exist." in ran.error
    assert "Set DAMASCUS_HOME to where it is" in ran.error and "--remove-section damascus" in ran.error


def test_a_database_that_is_not_named_is_one_sentence(yard: Yard, unset: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAMASCUS_DATABASE_URL")
    ran = unset("status")
    assert ran.code == 1 and "Set DAMASCUS_DATABASE_URL to the database that you used." in ran.error
    assert not (yard.folder / "home/postgres").exists()
