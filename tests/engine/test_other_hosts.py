"""A story changes hosts in the middle: what was pushed is fetched, what was not is made anew, nothing is charged."""

import os
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.app import App
from damascus.assembly import Choice, make_worker
from damascus.domain.errors import Stopping
from damascus.engine.tools import nothing
from damascus.engine.worker import Worker
from damascus.far_projects import far_project
from damascus.trial_forge.server import GiteaServer
from tests.crash.field import AGENT, AGENTS_IN_FULL, shell_story
from tests.real_forge import WORKFLOW, plant
from tests.yard import CONFIG, Yard

FORGE = '[forge]\nkind = "gitea"\nurl = "{url}"\n[ci]\nlook_seconds = 0.3\n'
CHECK = "for test in tests/test_*.sh; do test ! -e $test || sh $test || exit 1; done\n"
NOT_HERE = "what another host made of it is not here"


class Hosts:
    """Two data folders on one database and one real forge."""

    def __init__(self, server: GiteaServer, folder: Path, url: str, *, more: str = "", script: str = AGENT) -> None:
        self.planted = plant(server, folder, {"check": CHECK, ".gitea/workflows/ci.yml": WORKFLOW})
        self.planted.commit({"damascus.toml": CONFIG + FORGE.format(url=self.planted.url) + more}, "set up")
        self.planted.git("push", "--quiet", "origin", "main")
        (folder / "repo").symlink_to(self.planted.folder)
        self.yard = Yard(folder, url)
        self.folder, self.url, self.token = folder, url, server.token
        (folder / "agent.sh").write_text(script.replace("{before}", ":"))

    def worker(self, name: str, stop_at: str = "", person_at: str = "") -> Worker:
        """One that is asked to stop at that moment; at another one a person pushes to main."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "DAMASCUS_HOME": str(self.folder / name),
            "DAMASCUS_DATABASE_URL": self.url,
            "DAMASCUS_FORGE_TOKEN": self.token,
        }
        app = App(environ)
        agent = shlex.join(["sh", str(self.folder / "agent.sh"), str(self.folder)])

        def boundary(step: str, point: str) -> None:
            if f"{step}:{point}" == person_at:
                self.planted.git("pull", "--quiet", "origin", "main")
                self.planted.commit({"notes.txt": f"{name}\n"}, "a person's commit")
                self.planted.git("push", "--quiet", "origin", "main")
            if f"{step}:{point}" == stop_at:
                made.stop()
                raise Stopping

        made = make_worker(app, far_project(app, None), Choice(1, "command", agent), boundary)
        made.pace = replace(made.pace, poll=0.05)
        return made

    def landed_once(self) -> None:
        item = self.yard.item("S-1")
        assert item["phase"] == "done", (self.yard.questions(), item["last_feedback"])
        assert item["attempts"] == 0 and len(self.yard.events("S-1", "story.landed")) == 1
        self.planted.git("pull", "--quiet", "origin", "main")
        told = self.planted.git("log", "--format=%H", f"--grep=Damascus-Item: {item['uuid']}")
        assert told.split() == [item["merged_commit"]]
        pulls = self.planted.server.api("GET", f"/repos/{self.planted.full_name}/pulls?state=all").json()
        assert [pull["merged"] for pull in pulls] == [True]

    def restarts(self) -> list[str]:
        return [event["body"]["why"] for event in self.yard.events("S-1", "run.restarted")]


@pytest.fixture
def hosts(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> Iterator[Hosts]:
    made = Hosts(real_gitea, tmp_path, database_url)
    made.yard.add(shell_story("S-1"))
    yield made
    made.yard.db.close()


@pytest.mark.req("X11", "D20")
@pytest.mark.parametrize(
    ("moment", "anew"),
    [
        ("push:before_intent", True),
        ("propose:before_intent", False),
        ("review:before", False),
        ("land:before_intent", False),
    ],
)
def test_another_host_goes_on_with_what_was_pushed(hosts: Hosts, moment: str, anew: bool) -> None:
    hosts.worker("one", stop_at=moment).run(nothing)
    assert hosts.yard.item("S-1")["state"] == "ready"
    hosts.worker("two").run(nothing)
    assert hosts.restarts() == [NOT_HERE] * anew
    hosts.landed_once()


@pytest.mark.req("X11", "F14")
@pytest.mark.parametrize(("moment", "anew"), [("stage:before_intent", True), ("stage:after_done", False)])
def test_another_host_takes_over_a_place_in_the_merge_queue(hosts: Hosts, moment: str, anew: bool) -> None:
    """Main moved after the review, so the queue's commit is another than the pushed one."""
    hosts.worker("one", stop_at=moment, person_at="review:after").run(nothing)
    assert hosts.yard.query("SELECT state FROM queue_entries") == [{"state": "testing"}]
    hosts.worker("two").run(nothing)
    assert hosts.restarts() == [NOT_HERE] * anew
    hosts.landed_once()
    assert hosts.planted.git("log", "-2", "--format=%s").splitlines()[1] == "a person's commit"


@pytest.fixture
def hosts_in_full(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> Iterator[Hosts]:
    made = Hosts(real_gitea, tmp_path, database_url, more='[flow]\nprofile = "full"\n', script=AGENTS_IN_FULL)
    made.yard.add(shell_story("S-1", scope=["S-1.sh", "tests/test_S-1.sh", "docs/S-1.md"]))
    yield made
    made.yard.db.close()


@pytest.mark.req("X11", "F4")
@pytest.mark.parametrize(
    ("moment", "main_moves"),
    [
        ("critique_tests:before_intent", ""),
        ("implement:after_done", ""),
        ("docs:before_intent", ""),
        ("red:before", ""),
        ("push:before_intent", ""),
        ("push:before_intent", "red:after"),
    ],
)
def test_another_host_goes_on_in_the_same_round_and_sends_nobody_twice(
    hosts_in_full: Hosts, moment: str, main_moves: str
) -> None:
    hosts = hosts_in_full
    hosts.worker("one", stop_at=moment, person_at=main_moves).run(nothing)
    assert hosts.yard.item("S-1")["state"] == "ready"
    hosts.worker("two").run(nothing)
    assert hosts.restarts() == []
    hosts.landed_once()
    told = "".join(path.read_text() for path in hosts.folder.glob("*/projects/*/homes/*/agent.log"))
    sent = Counter(line.split()[1] for line in told.splitlines() if line.startswith("start "))
    rows = hosts.yard.query("SELECT input ->> 'role' AS role FROM journal WHERE status = 'done' AND input ? 'role'")
    assert sent == Counter(row["role"] for row in rows) and sent["test-author"] == 2
