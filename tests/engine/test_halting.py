"""The reasons for which the builder halts, met by a worker: root, a secret, attempts in a row that ended blocked."""

from pathlib import Path

import pytest

from damascus.domain.halt import HaltReason
from damascus.store import halted
from tests.cli.conftest import Cli, command
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import PERSON, Yard

__all__ = ["command"]

CONTRACT = "\n## Test Contract\n| TC | Behaviour | Kind | Test file | Command |\n|---|---|---|---|---|\n"


def made(tmp_path: Path, database_url: str, more: str = "") -> Yard:
    return Yard(tmp_path, database_url, files=FILES, config=config(more).replace("blocked_in_a_row = 1000\n", ""))


def reasons(yard: Yard) -> list[tuple[HaltReason, str | None]]:
    return [(halt.reason, halt.story) for halt in halted.current(yard.db, yard.row.id)]


@pytest.mark.req("A2.1")
def test_set_up_that_is_refused_by_sudo_needs_root(tmp_path: Path, database_url: str) -> None:
    yard = made(tmp_path, database_url, '[workspace]\nsetup = "sudo -k install nothing"\n')
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert reasons(yard) == [(HaltReason.ROOT, "one")]
    assert yard.item("one")["attempts"] == 0 and "needs root rights" in yard.questions()[0]
    assert len(yard.events("one", "builder.halted")) == 1


@pytest.mark.req("A2.1")
@pytest.mark.parametrize("command", ["echo 'sudo: a password is required' >&2; exit 1", "sudo true || true"])
def test_what_set_up_prints_means_nothing_and_who_does_without_is_no_halt(
    tmp_path: Path, database_url: str, command: str
) -> None:
    yard = made(tmp_path, database_url, f'[workspace]\nsetup = "{command}"\n')
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert reasons(yard) == []


@pytest.mark.req("A2.1", "A2.6")
def test_an_agent_that_says_so_halts_its_task_alone(tmp_path: Path, database_url: str) -> None:
    yard = made(tmp_path, database_url)
    yard.add(shell_story("one"), shell_story("two"))
    says = {"report": {"status": "BLOCKED", "missing": ["root"], "summary": "libfoo has to be installed"}}
    yard.work(Watched(yard, {"one": [says], "two": [good("two")]}))
    assert reasons(yard) == [(HaltReason.ROOT, "one")] and yard.item("two")["phase"] == "done"
    assert "libfoo has to be installed" in yard.questions()[0] and yard.item("one")["attempts"] == 0


@pytest.mark.req("A2.3", "A2.6")
def test_a_contract_that_names_a_secret_is_not_begun_and_goes_on_once_it_is_set(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard = made(tmp_path, database_url)
    monkeypatch.delenv("SHOP_KEY", raising=False)
    row = "| TC-1 | it says hello | unit | tests/test_one.sh | KEY=$SHOP_KEY sh tests/test_one.sh |\n"
    yard.add(shell_story("one") + CONTRACT + row, shell_story("two"))
    agent = Watched(yard, {"one": [good("one")], "two": [good("two")]})
    yard.work(agent)
    assert reasons(yard) == [(HaltReason.SECRET, "one")] and yard.item("two")["phase"] == "done"
    assert yard.item("one")["wait_kind"] == "secret" and [brief.story_id for brief, _, _ in agent.given] == ["two"]
    [question] = yard.questions()
    assert "SHOP_KEY" in question
    monkeypatch.setenv("SHOP_KEY", "k")
    yard.work(agent)
    assert reasons(yard) == [] and [brief.story_id for brief, _, _ in agent.given][:2] == ["two", "one"]
    assert not [text for text in yard.questions() if "is not begun" in text]


@pytest.mark.req("A2.3", "A2.6")
def test_a_required_secret_keeps_everything_until_a_worker_has_it(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, command: Cli
) -> None:
    yard = made(tmp_path, database_url, '[secrets]\nrequired = ["SHOP_KEY"]\n')
    monkeypatch.delenv("SHOP_KEY", raising=False)
    yard.add(shell_story("one"))
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    assert reasons(yard) == [(HaltReason.SECRET, None)] and agent.given == []
    yard.work(agent)
    assert len(yard.questions()) == 1, "asked once"
    for name, value in (yard.environ | PERSON).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(yard.repo)
    told = " ".join(command("status").out.split())
    assert "Halted: a required secret is missing (everything, since" in told and "It ends by itself" in told
    [halt] = command("status", "--json").json["halts"]
    assert (halt["reason"], halt["story_id"]) == ("secret", None) and "SHOP_KEY" in halt["message"]
    monkeypatch.setenv("SHOP_KEY", "k")
    yard.work(agent)
    assert reasons(yard) == [] and yard.questions() == [] and yard.item("one")["phase"] == "done"


@pytest.mark.req("A2.2")
def test_attempts_in_a_row_that_ended_blocked_halt_a_worker(tmp_path: Path, database_url: str) -> None:
    yard = made(tmp_path, database_url, "")
    text = (yard.repo / "damascus.toml").read_text().replace("[tasks]\n", "[tasks]\nblocked_in_a_row = 2\n")
    yard.commit({"damascus.toml": text}, "halt soon")
    names = ("one", "two", "three")
    yard.add(*(shell_story(name) for name in names), budget=1)
    agent = Watched(yard, {name: [{"exit": 1}] for name in names})
    yard.work(agent, slots=1)
    assert reasons(yard) == [(HaltReason.BLOCKED, None)] and len(agent.given) == 2
    assert [yard.item(name)["phase"] for name in names] == ["blocked", "blocked", "build"]
