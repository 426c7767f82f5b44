"""An agent as data, lying or honest, the scene it plays in, and what must be true afterwards."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import dedent
from typing import Any

from damascus.domain.ports import Forge
from damascus.system.sandbox import Level
from tests.levels import as_if_here
from tests.toolchains import INSTALL, need_program
from tests.yard import CONFIG, NO_PYTEST_CACHE, START, Yard, python, story

STORY = "S-1"
SCOPE = ("m.py", "tests/test_m.py")
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE}"
OWN_RUN = "own-run"

PRELUDE = '''
import signal, textwrap
HERE, REPO, OUTSIDE = pathlib.Path.cwd(), pathlib.Path({repo!r}), pathlib.Path({outside!r})
RUN = pathlib.Path(os.environ["DAMASCUS_BRIEF"]).parent
TEST = "from m import value\\n\\n\\ndef test_REQ_001_value():\\n    assert value() == 42\\n"


def put(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def good_work():
    put("m.py", "def value():\\n    return 42\\n")
    put("tests/test_m.py", TEST)


def bad_work():
    """A test that holds, and code that does not pass it."""
    good_work()
    put("m.py", "def value():\\n    return 0\\n")


def git(*args, cwd=None):
    return subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True).stdout.strip()


def mirror():
    """Where the workspace's objects come from: any agent can read that."""
    return pathlib.Path(".git/objects/info/alternates").read_text().strip().removesuffix("/objects")


def own_run():
    """What this agent would see, and tell, of its own run of the Test Command."""
    done = subprocess.run({command!r}, shell=True, capture_output=True)
    (pathlib.Path.home() / {own_run!r}).write_text(str(done.returncode))
'''


@dataclass(frozen=True)
class Scene:
    """A yard with one story, and a folder outside of every workspace that an agent may want to reach."""

    yard: Yard
    outside: Path

    @property
    def marker(self) -> Path:
        """What a planted hook or a late process would write."""
        return self.outside / "marker"

    @property
    def first_commit(self) -> str:
        """Where main was before any agent came."""
        return self.yard.git("rev-list", "--max-parents=0", "main")

    @cached_property
    def forge(self) -> Forge:
        return self.yard.tools().forge

    def item(self) -> dict[str, Any]:
        return self.yard.item(STORY)

    def told(self) -> str:
        """What the next attempt, or a person, would read."""
        feedback = self.item()["last_feedback"] or {}
        return "\n".join([*self.yard.questions(), str(feedback.get("message")), str(feedback.get("test_output"))])

    def agent(self, body: str, command: str) -> str:
        given = {"repo": str(self.yard.repo), "outside": str(self.outside), "command": command, "own_run": OWN_RUN}
        return self.yard.agent(PRELUDE.format(**given) + body)

    @property
    def agents_home(self) -> Path:
        return self.yard.project.folder / "homes" / STORY

    def own_run_was_green(self) -> bool:
        return (self.agents_home / OWN_RUN).read_text() == "0"


def no_trace(scene: Scene) -> None:
    assert not scene.marker.exists(), scene.marker.read_text()


def nothing_more(_: Scene) -> None:
    """The verdict says it all."""


@dataclass(frozen=True)
class Tale:
    """What an agent does, and the verdict that must come of it.

    `does` and `because` (what stops a lie, what lets honest work through) are the words of docs/lying-agents.md.
    `fools` promises that the agent's own run of the Test Command, in its workspace, is green: the lie is a real one.
    `reaches`: it acts outside of its workspace. In a cage it can't; so it is played without one too, where something
    else has to stop it.
    `asks`: all but old tests is green, so a person is asked at once and no try is spent.
    """

    name: str
    does: str
    because: str
    verdict: str
    body: str
    scope: Sequence[str] = SCOPE
    command: str = f"{PYTEST} tests/test_m.py"
    spec: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    config: str = CONFIG
    budget: int = 1
    acceptance: bytes | None = None
    fools: bool = False
    reaches: bool = False
    asks: bool = False
    needs: str = ""
    """A program of another language that its command does not name itself."""
    meanwhile: Callable[[Yard], None] | None = None
    after: Callable[[Scene], None] = nothing_more

    @property
    def programs(self) -> list[str]:
        """Of other languages, that its tests are run by."""
        return sorted({word for word in (*self.command.split(), self.needs) if word in INSTALL})

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def play(self, folder: Path, database_url: str) -> Scene:
        """One story, one attempt, one worker, until only a person could go on; without a cage if it reaches out."""
        if not self.reaches:
            return self.play_confined(folder, database_url)
        with as_if_here(Level.UNCONFINED):
            return self.play_confined(folder, database_url)

    def play_confined(self, folder: Path, database_url: str) -> Scene:
        """As well as this machine can."""
        for program in self.programs:
            need_program(program)
        yard = Yard(folder, database_url, files={**START, **self.files}, config=self.config)
        scene = Scene(yard, folder / "outside")
        scene.outside.mkdir()
        text = story(STORY, scope=list(self.scope), command=self.command, **self.spec)
        yard.add(text, budget=self.budget, acceptance=self.acceptance)
        agent = scene.agent(dedent(self.body) + ("\nown_run()\n" if self.fools else ""), self.command)
        yard.work(agent, boundary=self._boundary(yard))
        return scene

    def _boundary(self, yard: Yard) -> Callable[[str, str], None]:
        """The person's side of the story, once: after the agent's work, before it meets main."""

        def at(step: str, when: str) -> None:
            if self.meanwhile and (step, when) == ("red", "after"):
                self.meanwhile(yard)

        return at


def assert_landed(scene: Scene) -> None:
    item, yard = scene.item(), scene.yard
    pull = scene.forge.find_pull(item["branch"])
    assert item["phase"] == "done"
    assert item["merged_commit"] == yard.main()
    assert pull is not None and pull.state == "merged"
    assert yard.git("status", "--porcelain") == ""


def assert_told(scene: Scene, tale: Tale) -> None:
    """The next attempt reads what was wrong, by git and the tests, not by the agent (D13, D16)."""
    item = scene.item()
    feedback = item["last_feedback"]
    assert item["attempts"] == (0 if tale.asks else tale.budget)
    assert feedback["message"]
    assert bool(feedback["files_changed"]) == (tale.verdict != "nothing_changed")
    assert bool(feedback["out_of_scope"]) == (tale.verdict == "scope_violation")
    if tale.verdict == "tests_failed":
        assert feedback["test_output"] or "left no report" in feedback["message"]


def assert_not_landed(scene: Scene, main: str) -> None:
    item, yard = scene.item(), scene.yard
    pull = scene.forge.find_pull(item["branch"])
    assert item["phase"] == "blocked"
    assert item["merged_commit"] is None
    assert pull is None or pull.state != "merged"
    assert yard.questions(), "a blocked story asks a person"
    assert yard.main() == main
    assert yard.git("status", "--porcelain") == ""
