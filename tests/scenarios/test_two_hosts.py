"""Two hosts, one PostgreSQL, one Gitea: one host is cut off inside a push, each is killed; all lands once (X11)."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from psycopg.conninfo import conninfo_to_dict

from damascus.domain.errors import DamascusError
from damascus.store.embedded.access import password
from damascus.trial_forge.programs import find_programs
from tests import databases
from tests.crash.field import AGENT, shell_story
from tests.real_forge import MISSING, VERSION
from tests.scenarios.far_side import DATABASE_PORT, FORGE_PORT
from tests.scenarios.hosts import SERVER, Network, address, network
from tests.waiting import eventually
from tests.yard import CONFIG, Yard

FORGE = f"""
[forge]
kind = "gitea"
url = "http://{SERVER}:{FORGE_PORT}/damascus/repo"
[ci]
look_seconds = 1.0
[queue]
window = 8
[retry]
call_first_seconds = 0.2
"""
LIMITS = "[limits]\nlease_seconds = 4.0\nheartbeat_seconds = 1.0\n"
WORKFLOW = """\
on:
  push:
    branches: ["feat/**", "mq/**"]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: "true"
"""
"""The runner and its verdict are real; what else it could find out is not asked here."""
FILES = {
    "README": "a repository on a forge\n",
    ".gitea/workflows/ci.yml": WORKFLOW,
}
PATIENCE = 240.0
"""Seconds without success after which it has failed; on a machine of its own each takes a small part of that."""
TREE = Path(__file__).parents[2]


class Site:
    """The person's repository and queue, the server with database and forge, and two hosts without either."""

    def __init__(self, folder: Path, url: str, net: Network) -> None:
        self.folder, self.net, self.url = folder, net, url
        self.yard = Yard(folder, url, files=FILES, config=CONFIG.replace("[limits]\n", LIMITS) + FORGE)
        self.agent = folder / "agent.sh"
        self.agent.write_text(AGENT.format(before=":"))
        known = conninfo_to_dict(url)
        secret = password(Path(str(known["passfile"])))
        self.database = f"postgresql://{known['user']}:{secret}@{SERVER}:{DATABASE_PORT}/{known['dbname']}"
        socket = f"{known['host']}/.s.PGSQL.{known.get('port', 5432)}"
        place = Path(os.environ[databases.FOLDER]) / f"two-hosts-{uuid4().hex[:8]}"
        words = [sys.executable, "-m", "tests.scenarios.far_side", SERVER, str(place), socket, str(self.yard.repo)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.far_side = net.server.start(words, os.environ, cwd=TREE, text=True, **pipes)
        self.token = self.hear("ready")["token"]
        self.workers: dict[str, subprocess.Popen[Any]] = {}

    # ── the server ────────────────────────────────────────────────────────────────────────────────────

    def ask(self, do: str, **more: Any) -> None:
        self.far_side.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.far_side.stdin.flush()

    def hear(self, said: str) -> dict[str, Any]:
        while line := self.far_side.stdout.readline():
            told: dict[str, Any] = json.loads(line)
            if told["said"] == said:
                return told
        raise AssertionError(f"the server ended before it said {said!r}")

    # ── the hosts ─────────────────────────────────────────────────────────────────────────────────────

    def work(self, name: str, slots: int = 1) -> None:
        home = self.folder / name
        (home / "nobody").mkdir(parents=True, exist_ok=True)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home / "nobody"),
            "DAMASCUS_HOME": str(home),
            "DAMASCUS_DATABASE_URL": self.database,
            "DAMASCUS_FORGE_TOKEN": self.token,
        }
        command = [sys.executable, "-m", "damascus.cli.main", "worker", "--slots", str(slots), "--agent", "command"]
        agent = shlex.join(["sh", str(self.agent), str(self.folder)])
        log = open(home / "worker.log", "a")  # noqa: SIM115
        self.workers[name] = self.net.hosts[name].start(
            [*command, "--agent-command", agent], environ, cwd=home, stdout=log, stderr=log
        )

    def stop(self, name: str) -> None:
        self.workers[name].send_signal(signal.SIGTERM)
        assert self.workers[name].wait(30) == 130, self.told()

    def told(self) -> str:
        logs = [f"{path.parent.name}:\n{path.read_text()[-3000:]}" for path in self.folder.glob("host-*/worker.log")]
        rows = self.yard.query("SELECT story_id, phase, state, wait_kind, wait_key, last_feedback FROM work_items")
        return "\n".join([*logs, *(str(row) for row in rows if row["phase"] != "done"), *self.yard.questions()])

    # ── what became of it ─────────────────────────────────────────────────────────────────────────────

    def add(self, *names: str) -> None:
        self.yard.add(*(shell_story(name) for name in names))

    def done(self) -> int:
        return int(self.yard.query("SELECT count(*) AS n FROM work_items WHERE phase = 'done'")[0]["n"])

    def await_done(self, count: int, seconds: float) -> None:
        try:
            eventually(lambda: self.done() >= count, seconds, f"{count} stories to land")
        except AssertionError as err:
            raise AssertionError(f"{err}\n{self.told()}") from None

    def landed_by(self) -> dict[str, str]:
        rows = self.yard.query(
            "SELECT i.story_id, (SELECT split_part(c.body ->> 'worker', ':', 1) FROM events_outbox c"
            " WHERE c.item_id = i.id AND c.kind = 'item.claimed' ORDER BY c.id DESC LIMIT 1) AS host FROM work_items i"
        )
        return {row["story_id"]: row["host"] for row in rows}

    def pulls(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in (1, 2):
            self.ask("pulls", page=page)
            found += self.hear("pulls")["answer"]
        return found

    def check(self, *names: str) -> None:
        """Each landed once: one event, one commit on the forge's main, one pull request, merged."""
        clone = self.folder / f"clone-{uuid4().hex[:6]}"
        self.ask("clone", to=str(clone))
        self.hear("cloned")
        pulls = self.pulls()
        for name in names:
            item = self.yard.item(name)
            assert item["phase"] == "done" and item["attempts"] == 0, self.told()
            assert len(self.yard.events(name, "story.landed")) == 1
            commits = _git(clone, "log", "--format=%H", f"--grep=Damascus-Item: {item['uuid']}", "main").split()
            assert commits == [item["merged_commit"]]
            mine = [pull for pull in pulls if pull["head"]["label"].endswith(item["branch"])]
            assert [(pull["merged"], pull["merge_commit_sha"]) for pull in mine] == [(True, item["merged_commit"])]
            assert _git(clone, "show", f"main:{name}.sh") == f"echo hello {name}"

    def close(self) -> None:
        self.far_side.stdin.close()
        self.far_side.wait(30)
        self.yard.db.close()


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Iterator[Site]:
    try:
        find_programs(os.environ, VERSION)
    except DamascusError:
        pytest.skip(MISSING[VERSION])
    with network("host-a", "host-b") as net:
        made = Site(tmp_path, database_url, net)
        yield made
        made.close()


@pytest.mark.req("X11", "D20")
def test_a_host_that_is_cut_off_in_the_middle_of_a_push_can_do_no_harm(site: Site) -> None:
    cut_off = site.net.hosts["host-a"]
    site.add("S-1")
    site.ask("hold", host=address(1, 2))
    site.work("host-a")
    site.hear("held")
    cut_off.cut()

    site.work("host-b")
    site.await_done(1, PATIENCE)
    site.check("S-1")
    assert site.landed_by() == {"S-1": "host-b"}

    cut_off.mend()
    site.ask("let go")
    answer = site.hear("answered")["text"]
    assert "ng refs/heads/feat/S-1" in answer, f"the forge itself must refuse it: {answer}"

    site.stop("host-b")
    site.add("S-2")
    site.await_done(2, PATIENCE)
    assert site.landed_by() == {"S-1": "host-b", "S-2": "host-a"}, "it goes on with other work"
    site.check("S-1", "S-2")


@pytest.mark.timeout(900)
@pytest.mark.req("X11", "D20", "D21")
def test_thirty_stories_over_two_hosts_each_of_which_is_killed_once(site: Site) -> None:
    over_both(site, 30)


def over_both(site: Site, count: int) -> None:
    names = [f"S-{n}" for n in range(1, count + 1)]
    site.add(*names)
    for name in ("host-a", "host-b"):
        site.work(name, slots=3)
    for name, after in (("host-a", count // 6), ("host-b", count // 2)):
        site.await_done(after, PATIENCE)
        site.net.hosts[name].kill()
        site.work(name, slots=3)
    site.await_done(len(names), PATIENCE)
    site.check(*names)
    assert set(Counter(site.landed_by().values())) == {"host-a", "host-b"}
    assert site.yard.query("SELECT 1 FROM events_outbox WHERE kind = 'item.rescued'"), "the kills hit somebody's work"
