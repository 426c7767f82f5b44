"""The lying agents of the core, told again by Claude Code: what a command agent did, a scripted model now does.

By its shell: one Bash call that runs the same program. By its tools: one Write per file that this program would leave,
found by letting it run in a copy of the base beforehand.
"""

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from damascus.lab.play import Scene
from damascus.lab.tale import Tale
from tests.model_server import ModelServer, Turn, call, say
from tests.scenarios.stories import claude, reading, seen
from tests.yard import START, Yard, python

Telling = Callable[[Scene, Tale], list[Turn]]
DONE: list[Turn] = [[say("All is done, and every test passes.")]]


def play(tale: Tale, telling: Telling, folder: Path, database_url: str, proof: Path) -> Scene:
    """As Tale.play_confined, with Claude Code for an agent."""
    yard = Yard(folder, database_url, files={**START, **tale.files}, config=reading(tale.config))
    scene = Scene.of(tale, yard)
    with ModelServer(telling(scene, tale)) as model:
        yard.work(claude(yard, model.url, proof), boundary=scene.meanwhile(tale))
    return scene


def by_shell(scene: Scene, tale: Tale) -> list[Turn]:
    return [
        [call("Bash", command=f"{python()} - <<'THE_END'\n{program(scene, tale)}\nTHE_END", description="work")],
        *DONE,
    ]


def by_tools(scene: Scene, tale: Tale) -> list[Turn]:
    """Each file is written whole; what a Write can't do (a file that goes) is the shell's."""
    copy = scene.yard.folder / "copy"
    subprocess.run(["git", "clone", "-q", scene.yard.repo, copy], check=True, env={"PATH": os.environ["PATH"]})
    before = _files(copy)
    brief = scene.yard.folder / "brief.json"
    brief.write_text('{"attempt": 1, "file_scope": []}')
    env = {"PATH": os.environ["PATH"], "HOME": str(scene.yard.folder), "DAMASCUS_BRIEF": str(brief)}
    subprocess.run([python(), "-c", program(scene, replace(tale, fools=False))], cwd=copy, env=env, check=True)
    after, here = _files(copy), seen(scene.yard)
    written = [name for name in after if after[name] != before.get(name)]
    turns: list[Turn] = [[call("Read", file_path=str(here / name))] for name in written if name in before]
    turns += [[call("Write", file_path=str(here / name), content=after[name])] for name in written]
    gone = shlex.join(sorted(set(before) - set(after)))
    turns += [[call("Bash", command=f"rm {gone}", description="remove")]] if gone else []
    return [*turns, *DONE]


def program(scene: Scene, tale: Tale) -> str:
    """The very program of the core's command agent."""
    command = scene.agent(tale.script, tale.command)
    return Path(shlex.split(command)[-1]).read_text()


def _files(folder: Path) -> dict[str, str]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_text() for path in found}
