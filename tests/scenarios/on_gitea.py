"""A yard whose forge is the real Gitea with its real runner. Code and tests of its stories are shell scripts.

site = GiteaYard(tmp_path, database_url, real_gitea, through=proxy.url)
site.add_good("one", "two")
site.go()
site.check("one", "two")
"""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from damascus.engine.tools import nothing
from damascus.trial_forge.server import GiteaServer
from tests.engine.shell_stories import Watched, config, good, shell_story
from tests.real_forge import WORKFLOW
from tests.waiting import eventually
from tests.yard import PERSON, Yard

PATIENCE = 120.0
SLOTS = 3
SETTINGS = """
[forge]
kind = "gitea"
url = "{url}"
[ci]
look_seconds = 0.5
{ci}
[retry]
call_first_seconds = 0.1
{retry}
"""
FILES = {
    "README": "a repository on a forge\n",
    "check": "for test in tests/test_*.sh; do test ! -e $test || sh $test || exit 1; done\n",
    ".gitea/workflows/ci.yml": WORKFLOW.replace('[main, "feat/**", "mq/**"]', '["feat/**", "mq/**"]'),
}
"""One job that runs the tests of all stories; main itself is not tested again."""


class GiteaYard(Yard):
    """`through`: the address that Damascus knows the forge by. `ci` and `retry` are lines of those sections."""

    def __init__(self, folder: Path, url: str, server: GiteaServer, *, through: str = "", **parts: Any) -> None:
        self.server = server
        self.path = f"{server.user}/repo-{uuid4().hex[:8]}"
        server.create_repository(self.path.partition("/")[2], empty=True)
        address = f"{through or server.url}/{self.path}"
        settings = SETTINGS.format(url=address, ci=parts.pop("ci", ""), retry=parts.pop("retry", ""))
        super().__init__(folder, url, files={**FILES, **parts.pop("files", {})}, config=config(settings))
        self.app.environ = {**self.app.environ, "DAMASCUS_FORGE_TOKEN": server.token}
        self.git("remote", "add", "forge", f"{server.url}/{self.path}.git")
        self.push_main()
        self.tries: dict[str, list[Any]] = {}

    def push_main(self, *words: str) -> None:
        """A person's push, with the server's own address; the forge's API knows of it afterwards."""
        self.at_forge("push", "--quiet", *words, "forge", "main")
        eventually(self._known, 30, "the forge's knowledge of main")

    def _known(self) -> bool:
        if self.api("GET", "")["empty"]:
            return False
        return bool(self.api("GET", "/branches/main")["commit"]["id"] == self.main())

    def at_forge(self, *words: str) -> str:
        env = {"PATH": os.environ["PATH"], **PERSON, **self.server.git_environment()}
        done = subprocess.run(["git", *words], cwd=self.repo, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout.strip()

    def api(self, method: str, path: str, body: object = None) -> Any:
        answer = self.server.api(method, f"/repos/{self.path}{path}", body)
        return answer.json() if answer.content else None

    # ── stories and workers ───────────────────────────────────────────────────────────────────────────

    def add_good(self, *names: str) -> None:
        self.tries |= {name: [good(name)] for name in names}
        self.add(*(shell_story(name) for name in names))

    def queued(self) -> list[str]:
        rows = self.query("SELECT i.story_id FROM queue_entries e JOIN work_items i ON i.id = e.item_id ORDER BY e.pos")
        return [row["story_id"] for row in rows]

    def scripted(self, before: Callable[..., None] | None = None) -> Watched:
        """Does what `tries` says; `before` is called each time."""
        return Watched(self, self.tries, before)

    def go(self, before: Callable[..., None] | None = None) -> Watched:
        """Work until nothing moves without a person; who worked."""
        agent = self.scripted(before)
        worker = self.worker(agent, slots=SLOTS)
        timer = threading.Timer(PATIENCE, worker.stop)
        timer.start()
        try:
            worker.run(nothing)
        finally:
            timer.cancel()
        return agent

    @contextmanager
    def working(self, before: Callable[..., None] | None = None) -> Iterator[None]:
        """A worker in a thread, while the test does something to the forge; then until nothing moves."""
        worker = self.worker(self.scripted(before), slots=SLOTS)
        failed: list[BaseException] = []

        def run() -> None:
            try:
                worker.run(nothing)
            except BaseException as err:
                failed.append(err)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
            thread.join(PATIENCE)
        finally:
            worker.stop()
            thread.join(30)
        assert not failed, failed

    # ── what became of it ─────────────────────────────────────────────────────────────────────────────

    def forge_main(self) -> str:
        self.at_forge("fetch", "--quiet", "--prune", "forge")
        return self.git("rev-parse", "forge/main")

    def branches(self) -> set[str]:
        self.forge_main()
        names = self.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/forge").split()
        return set(names) - {"HEAD"}

    def pulls(self, name: str) -> list[dict[str, Any]]:
        found = self.api("GET", "/pulls?state=all&limit=50&page=1")
        return [pull for pull in found if pull["head"]["label"].endswith(self.item(name)["branch"])]

    def comments(self, name: str, about: str = "flaky") -> list[str]:
        """Those of one kind: `flaky`, or the `proof`."""
        [pull] = self.pulls(name)
        every = [each["body"] for each in self.api("GET", f"/issues/{pull['number']}/comments")]
        return [text for text in every if f"<!-- damascus:{about}" in text]

    def commits(self, name: str) -> list[str]:
        """On the forge's main, of this story."""
        self.forge_main()
        return self.git("log", "--format=%H", f"--grep=Damascus-Item: {self.item(name)['uuid']}", "forge/main").split()

    def jobs(self, commit: str) -> list[dict[str, Any]]:
        """Every job that the forge ran or runs for this commit."""
        runs = self.api("GET", f"/actions/runs?head_sha={commit}")["workflow_runs"]
        return [job for run in runs for job in self.api("GET", f"/actions/runs/{run['id']}/jobs")["jobs"]]

    def check(self, *names: str) -> None:
        """Each landed once and was charged nothing: one pull, merged; one commit on main, which is the pull's."""
        for name in names:
            item = self.item(name)
            assert (item["phase"], item["attempts"]) == ("done", 0), self.told()
            assert len(self.events(name, "story.landed")) == 1
            assert self.commits(name) == [item["merged_commit"]]
            pulls = [(pull["state"], pull["merged"], pull["merge_commit_sha"]) for pull in self.pulls(name)]
            assert pulls == [("closed", True, item["merged_commit"])]
            assert self.git("show", f"forge/main:{name}.sh") == f"echo hello {name}"
            states = {job.get("conclusion") for job in self.jobs(item["merged_commit"]) if job["name"] == "test"}
            assert "success" in states and not states & {"failure", "cancelled"}, "tested as that very commit"

    def told(self) -> str:
        rows = self.query("SELECT story_id, phase, state, attempts, wait_kind, wait_key, last_feedback FROM work_items")
        events = self.query("SELECT kind, body FROM events_outbox ORDER BY id DESC LIMIT 12")
        return "\n".join([*map(str, rows), *map(str, reversed(events)), *self.questions()])
