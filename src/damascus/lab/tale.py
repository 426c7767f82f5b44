"""An agent as data, lying or honest, and what must come of it."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from damascus.lab.ground import CONFIG, NO_PYTEST_CACHE, python

STORY = "S-1"
SCOPE = ("m.py", "tests/test_m.py")
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE}"
OWN_RUN = "own-run"
STACKS = {"go": "go", "node": "node", "npm": "node", "cargo": "rust"}
"""A word of a command, and the stack that it belongs to."""

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
    person_commits: Mapping[str, str] = field(default_factory=dict)
    """What a person brings to main after the agent's work, before it meets main."""

    @property
    def programs(self) -> list[str]:
        """Of other languages, that its tests are run by."""
        return sorted({word for word in (*self.command.split(), self.needs) if word in STACKS})

    @property
    def missing(self) -> list[str]:
        return [program for program in self.programs if shutil.which(program) is None]

    @property
    def stack(self) -> str:
        return STACKS[self.programs[0]] if self.programs else "python"

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def script(self) -> str:
        return dedent(self.body) + ("\nown_run()\n" if self.fools else "")
