"""Stories whose code and tests are shell scripts, so that a whole life takes a second; agents as scripts of tries."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from damascus.agents.scripted import ScriptedAgent
from damascus.domain.ports import AgentRun, Brief, Watch
from tests.yard import CONFIG, Yard, story

FILES = {"README": "a yard\n", ".gitignore": "ignored/\n"}


def shell_story(name: str, **parts: Any) -> str:
    scope = [f"{name}.sh", f"tests/test_{name}.sh"]
    return story(name, **{"scope": scope, "command": f"sh tests/test_{name}.sh", **parts})


def good(name: str, **more: str) -> dict[str, Any]:
    """A try that does what `shell_story(name)` asks."""
    test = f'# REQ-001\nsays=$(sh {name}.sh)\necho "it says $says"\ntest "$says" = "hello {name}"\n'
    return {"write": {f"{name}.sh": f"echo hello {name}\n", f"tests/test_{name}.sh": test, **more}}


def bad(name: str, says: str = "bye") -> dict[str, Any]:
    """Its tests are red after the code, too."""
    return {"write": {**good(name)["write"], f"{name}.sh": f"echo {says}\n"}}


class Watched:
    """An agent that keeps what it was given and calls `before` each time, in the workspace."""

    name = "watched"
    confinement = "unconfined"

    def __init__(self, yard: Yard, script: Mapping[str, Sequence[Any]], before: Callable[..., None] | None = None):
        self.inner = ScriptedAgent(script, state=yard.folder / "tries")
        self.before = before
        self.given: list[tuple[Brief, str, dict[str, bytes]]] = []
        self.lock = threading.Lock()

    def run(self, brief: Brief, workspace: Any, watch: Watch) -> AgentRun:
        files = {
            str(path.relative_to(workspace)): path.read_bytes()
            for path in sorted(workspace.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(workspace).parts
        }
        with self.lock:
            self.given.append((brief, watch.prompt, files))
        if self.before is not None:
            self.before(brief, workspace)
        return self.inner.run(brief, workspace, watch)


def config(more: str = "", **limits: object) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in limits.items())
    return CONFIG.replace("[limits]\n", "[limits]\n" + lines) + more
