"""`damascus worker`: on any host, with the database and a real forge, without a folder of the repository."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.trial_forge.server import GiteaServer
from tests.cli.conftest import Cli
from tests.crash.field import AGENT, shell_story
from tests.real_forge import WORKFLOW, Planted, plant
from tests.waiting import eventually
from tests.yard import CONFIG, Yard

FORGE = '[forge]\nkind = "gitea"\nurl = "{url}"\n[ci]\nlook_seconds = 0.3\n[workspace]\ncopy = [".env.test"]\n'
CHECK = "for test in tests/test_*.sh; do test ! -e $test || sh $test || exit 1; done\n"


# ── refused ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X11")
def test_the_embedded_database_is_refused(command: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path))
    ran = command("worker")
    assert ran.code == 2
    assert "needs a database that every host can reach. Set DAMASCUS_DATABASE_URL" in ran.error
    assert not (tmp_path / "postgres").exists(), "nothing was started for it"


@pytest.mark.req("X11")
def test_the_local_forge_is_refused(cli: Cli) -> None:
    ran = cli("worker")
    assert ran.code == 2
    assert "no project in this database is on a forge that every host can reach. Set [forge] kind and url" in ran.error


@pytest.mark.req("X11")
def test_of_several_projects_one_must_be_named(yard: Yard, cli: Cli) -> None:
    for name in ("shop", "bank"):
        yard.query(
            "WITH p AS (INSERT INTO projects (uuid, name) VALUES (gen_random_uuid(), %s) RETURNING id)"
            " INSERT INTO repos (project_id, path, main_branch, forge_kind, forge_url, forge_token_env)"
            " SELECT id, '/nowhere', 'main', 'gitea', %s, 'NO_SUCH_TOKEN' FROM p RETURNING 1",
            name, f"http://127.0.0.1:9/o/{name}",
        )  # fmt: skip
    for words in (("worker",), ("worker", "--project", "farm")):
        ran = cli(*words)
        assert ran.code == 2 and "which project? Name one by --project" in ran.error
        assert "bank (" in ran.error and "shop (" in ran.error
    ran = cli("worker", "--project", "bank")
    assert ran.code == 2 and "Set the variable NO_SUCH_TOKEN" in ran.error


@pytest.mark.req("X11")
def test_one_repository_of_a_forge_has_one_queue(tmp_path: Path, database_url: str, cli: Cli, yard: Yard) -> None:
    config = CONFIG + FORGE.format(url="http://127.0.0.1:9/o/r")
    yard.commit({"damascus.toml": config}, "on a forge")
    assert cli("status").code == 0
    other = Yard(tmp_path / "other", database_url)
    other.commit({"damascus.toml": config}, "on the same")
    ran = cli("-C", str(other.repo), "status")
    assert ran.code == 1 and "is worked by another project of this database already" in ran.error


@pytest.mark.req("X11", "D14")
def test_an_address_with_a_password_is_never_written(yard: Yard, cli: Cli) -> None:
    yard.commit({"damascus.toml": CONFIG + FORGE.format(url="http://me:hunter2@127.0.0.1:9/o/r")}, "careless")
    ran = cli("status")
    assert ran.code == 2 and "holds a user or a password" in ran.error and "hunter2" not in ran.error
    assert yard.query("SELECT forge_url FROM repos") == [{"forge_url": None}]


# ── at work ───────────────────────────────────────────────────────────────────────────────────────────


class Away:
    """A repository on the real forge, its queue, and a host that has neither."""

    def __init__(self, server: GiteaServer, folder: Path, url: str) -> None:
        self.planted: Planted = plant(server, folder, {"check": CHECK, ".gitea/workflows/ci.yml": WORKFLOW})
        text = CONFIG + FORGE.format(url=self.planted.url)
        self.planted.commit({"damascus.toml": text}, "set up")
        self.planted.git("push", "--quiet", "origin", "main")
        (folder / "repo").symlink_to(self.planted.folder)
        self.yard = Yard(folder, url)
        self.host = folder / "host"
        self.host.mkdir()
        agent = folder / "agent.sh"
        agent.write_text(AGENT.format(before=":"))
        self.agent = shlex.join(["sh", str(agent), str(folder)])
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.host),
            "DAMASCUS_HOME": str(self.host / "data"),
            "DAMASCUS_DATABASE_URL": url,
            "DAMASCUS_FORGE_TOKEN": server.token,
        }

    def worker(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "damascus.cli.main", "worker", "--agent", "command"]
        return subprocess.Popen(
            [*command, "--agent-command", self.agent, *words], cwd=self.host, env=self.environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip


@pytest.fixture
def away(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> Iterator[Away]:
    made = Away(real_gitea, tmp_path, database_url)
    yield made
    made.yard.db.close()


@pytest.mark.req("X11", "D8", "D9")
def test_a_story_lands_from_a_host_without_the_repository(away: Away) -> None:
    away.yard.add(shell_story("S-1"))
    out, err = _ended(away.worker("--until-idle", "--project", away.yard.row.name))
    item = away.yard.item("S-1")
    assert item["phase"] == "done", out + err
    away.planted.git("pull", "--quiet", "origin", "main")
    assert away.planted.tip == item["merged_commit"]
    assert f"gitea at {away.planted.url}" in out
    assert "copy names .env.test, and this host has no folder of yours to copy from" in " ".join(err.split())
    assert away.environ["DAMASCUS_FORGE_TOKEN"] not in out + err


@pytest.mark.req("X11")
def test_it_runs_until_it_is_stopped(away: Away) -> None:
    worker = away.worker("--slots", "3")
    eventually(lambda: away.yard.query("SELECT 1 FROM workers WHERE ended_at IS NULL"), 30, "the worker to register")
    assert away.yard.query("SELECT pid, slots FROM workers") == [{"pid": worker.pid, "slots": 3}]
    worker.send_signal(signal.SIGTERM)
    _ended(worker, 130)


def _ended(worker: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    try:
        out, err = worker.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        worker.kill()
        out, err = worker.communicate()
        raise AssertionError(f"it did not end:\n{out}\n{err}") from None
    assert worker.returncode == code, out + err
    return out, err
