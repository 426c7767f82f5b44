"""An agent that does what a script says: for the demo and for tests. No process, no model, no surprise.

A script names, per story, what each try does:

    [[STORY-1]]
    say = "first try"
    exit = 75
    [[STORY-1]]
    write = { "app.py" = "…" }
    delete = ["old.py"]

Tries are counted in files, not taken from the brief: an exit 75 is followed by the next entry although `attempt` is
unchanged, also after a restart. Tries beyond the list repeat its last entry.
"""

import json
import os
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, TextIO

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from damascus.agents import AgentSetup
from damascus.agents.handover import hand_over, read_report
from damascus.domain.errors import TransientError, UsageError
from damascus.domain.failures import transient_os_error
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.domain.storable import clean
from damascus.system.output import make_way
from damascus.system.replacing import replace_file

FAILED = 1
POLL = 0.05


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise ValueError(f"{path!r} is not a path inside the workspace")
    return path


InsidePath = Annotated[str, AfterValidator(_inside)]


class Try(BaseModel):
    """One entry of a script. `seconds` is how long it takes, `report` an object, or text to be written as it is."""

    model_config = ConfigDict(extra="forbid")

    write: dict[InsidePath, str] = Field(default_factory=dict)
    delete: list[InsidePath] = Field(default_factory=list)
    exit: int = 0
    say: str = ""
    report: dict[str, object] | str | None = None
    seconds: float = 0.0
    only_role: str | None = None


Script = TypeAdapter(dict[str, list[Try]])


class ScriptedAgent:
    """`state` is the folder in which tries are counted."""

    name = "scripted"
    confinement = "unconfined"

    def __init__(self, script: Mapping[str, Sequence[Try | Mapping[str, object]]], *, state: Path) -> None:
        self._script = _validated(script, "The script of the scripted agent")
        self._state = state

    @classmethod
    def load(cls, path: Path, *, state: Path) -> "ScriptedAgent":
        """From a TOML file, or a JSON file called *.json."""
        try:
            text = path.read_text(encoding="utf-8")
            script = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except OSError as err:
            raise UsageError(f"The agent script {path} can't be read: {err.strerror}. Check its path.") from None
        except ValueError as err:
            raise UsageError(f"The agent script {path} is no valid TOML or JSON: {err}. Correct it.") from None
        return cls(_validated(script, f"The agent script {path}"), state=state)

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        begun = time.monotonic()
        hand_over(brief, watch.brief_file, watch.report_file)
        make_way(watch.transcript)
        with watch.transcript.open("w", encoding="utf-8", errors="replace") as transcript:
            run = self._act(brief, workspace, watch, transcript)
        text = watch.transcript.read_text(encoding="utf-8")
        seconds = time.monotonic() - begun
        report = read_report(watch.report_file)
        told = {"report": report, "transcript": str(watch.transcript), "tail": clean(text), "seconds": seconds}
        return run.model_copy(update=told)

    def _act(self, brief: Brief, workspace: Path, watch: Watch, transcript: TextIO) -> AgentRun:
        entries = [each for each in self._script.get(brief.story_id, []) if each.only_role in (None, brief.role)]
        number = self._count(brief)
        transcript.write(f"scripted agent: {brief.story_id}, {brief.role}, try {number}\n{watch.prompt}\n")
        if not entries:
            transcript.write(f"the script has nothing for {brief.story_id} as {brief.role}\n")
            return AgentRun(exit_code=FAILED)
        entry = entries[min(number, len(entries)) - 1]
        if ended := _passed(entry.seconds, watch):
            return ended
        problem = _apply(entry, workspace, transcript)
        if isinstance(entry.report, str):
            watch.report_file.write_text(entry.report, encoding="utf-8")
        elif entry.report is not None:
            watch.report_file.write_text(json.dumps(entry.report), encoding="utf-8")
        transcript.write(f"{problem or entry.say}\n")
        return AgentRun(exit_code=FAILED if problem else entry.exit)

    def _count(self, brief: Brief) -> int:
        """The number of this try of the role at the story, written down before anything is done."""
        self._state.mkdir(parents=True, exist_ok=True)
        file = self._state / f"{brief.story_id}.json"
        counts = json.loads(file.read_text()) if file.exists() else {}
        counts[brief.role] = counts.get(brief.role, 0) + 1
        replace_file(file, json.dumps(counts))
        return int(counts[brief.role])


def _validated(script: object, name: str) -> dict[str, list[Try]]:
    try:
        return Script.validate_python(script)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{name} is wrong at {where}: {first['msg']}. Correct it.") from None


def _passed(seconds: float, watch: Watch) -> AgentRun | None:
    """Let the time pass that the try takes; how it was ended if it was."""
    now = time.monotonic()
    end, deadline = now + seconds, now + watch.timeout
    pause = threading.Event()
    while (now := time.monotonic()) < end:
        if watch.stopping():
            return AgentRun(exit_code=None, stopped=True)
        if now >= deadline:
            return AgentRun(exit_code=None, timed_out=True)
        pause.wait(min(POLL, end - now, deadline - now))
    return None


def _apply(entry: Try, workspace: Path, transcript: TextIO) -> str:
    """Write and delete; the reason when something could not be."""
    try:
        for path, content in entry.write.items():
            _write(workspace, path, content)
            transcript.write(f"wrote {path}\n")
        for path in entry.delete:
            _target(workspace, path).unlink(missing_ok=True)
            transcript.write(f"deleted {path}\n")
    except OSError as err:
        if transient_os_error(err):
            raise TransientError(f"the scripted agent's write: {err}") from err
        return f"could not change {err.filename}: {err.strerror}"
    return ""


def _write(workspace: Path, path: str, content: str) -> None:
    target = _target(workspace, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(content)


def _target(workspace: Path, path: str) -> Path:
    """The path in the workspace, refused when a link on the way leads elsewhere."""
    target = workspace.resolve() / path
    if not target.parent.resolve().is_relative_to(workspace.resolve()):
        raise PermissionError(1, "it lies behind a link that leaves the workspace", path)
    return target


def make(setup: AgentSetup) -> ScriptedAgent:
    if not setup.command:
        raise UsageError("The scripted agent needs a script. Set [agent] command or --agent-command to its path.")
    return ScriptedAgent.load(setup.start_folder / setup.command, state=setup.state)
