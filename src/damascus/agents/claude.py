"""Claude Code as an agent, the default: headless, confined, every write through the pipeline, read while it works.

prepare      private folders, the way to the model, the program proved to block (claude_self_test.py)
talk         initialize, prompt, hooks, result (claude_protocol.py)
read         each event: transcript, signs for the overseer, facts (claude_events.py)
end          by itself, or by us: first an interrupt, so that it tells its totals, then signals
tell         AgentRun: what was observed. Its own "success" is a claim, in the report.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.agents.binaries import gone, version_of
from damascus.agents.claude_command import Place, arguments, environment
from damascus.agents.claude_self_test import untrusted
from damascus.agents.claude_session import ReportIsFree, Session, Unchecked
from damascus.agents.claude_transcript import Transcript, written_to
from damascus.agents.command import OURS, PASSED_ON, absolute_path, readable
from damascus.agents.gateway import GatewayBridge, Way
from damascus.agents.handover import hand_over
from damascus.agents.seating import SeatedWrites, fetched_by_setup, seats_of, to_read
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.system import process
from damascus.system.installing import install
from damascus.system.masking import mask_file
from damascus.system.output import make_way, stderr_log
from damascus.system.sandbox import Cage, Level, detect

FEWEST_TURNS = 50
DEFAULT_MODEL = "minimax-m3"


@dataclass(frozen=True)
class Patience:
    """How long Claude Code tries by itself. `retries` are few, so that the orchestrator stays in command.

    `hook_seconds` None: a hook may take as long as the step, since it may be a person who looks at a diff.
    """

    retries: int = 2
    api_seconds: float = 600.0
    hook_seconds: float | None = None


class ClaudeAgent:
    """`start_folder` is where damascus was started, `homes` holds a private HOME per story, `state` is ours."""

    name = "claude"
    pings = True

    def __init__(
        self, program: Path, bridge: GatewayBridge, *, start_folder: Path, homes: Path, state: Path,
        level: Level | None = None, patience: Patience | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self._bridge = bridge
        self._level = level or detect()
        self._start_folder = start_folder
        self._homes = homes
        self._state = state
        self._patience = patience or Patience()

    @property
    def confinement(self) -> str:
        return self._level.value

    @property
    def version(self) -> str:
        return version_of(self.program)

    def prove(self) -> None:
        """Refuse a program whose hooks don't block; said where a person starts it, not in the middle of a story."""
        if why := untrusted(self.program, self._state):
            raise DamascusError(f"{why}. Install another version: {install('claude')}")

    @property
    def gateway(self) -> str:
        return self._bridge.url

    def fault(self, model: str, *, ping: bool) -> str:
        return gone(self.program) or (self._bridge.fault("messages", model or DEFAULT_MODEL) if ping else "")

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        if watch.max_turns < FEWEST_TURNS:
            raise UsageError(
                f"{watch.max_turns} turns end most work unfinished. Set [agent] max_turns to {FEWEST_TURNS} or more."
            )
        hand_over(brief, watch.brief_file, watch.report_file)
        with written_to(watch.transcript, watch.log_limit, watch.env.values()) as transcript:
            transcript.note(f"{self.name} {self.version}, {watch.model or DEFAULT_MODEL}, {self.confinement}")
            transcript.note(watch.prompt)
            if why := untrusted(self.program, self._state):
                transcript.note(why)
                where, tail = str(watch.transcript), transcript.tail
                return AgentRun(exit_code=None, ended="hook", transcript=where, tail=tail, confinement=self.confinement)
            return self._watched(brief, workspace, watch, transcript)

    def _watched(self, brief: Brief, workspace: Path, watch: Watch, transcript: Transcript) -> AgentRun:
        hook_seconds = self._patience.hook_seconds or watch.timeout
        with self._folders(brief) as step, self._bridge.open(step.folder, watch.overseer.saw) as way:
            seats = seats_of(self._level, workspace, watch)
            writes = SeatedWrites(ReportIsFree(watch.writes or Unchecked(), step.report, workspace), seats)
            session = Session(watch, transcript, writes, hook_seconds)
            done = self._start(brief, workspace, session, step, way)
            facts = way.facts()
            run = session.outcome(done, facts, step.report, self.confinement)
            return self._bridge.marked(run, facts, watch.model or DEFAULT_MODEL)

    def _start(
        self, brief: Brief, workspace: Path, session: "Session", step: "StepFolders", way: Way
    ) -> process.Finished:
        watch, patience = session.watch, self._patience
        words = arguments(
            self.program, watch.model or DEFAULT_MODEL, watch.max_turns, (step.report.parent, *watch.writable)
        )
        url, seats = way.base_url(self._level), seats_of(self._level, workspace, watch)
        base = fetched_by_setup(watch, seats) | self._base(brief, watch, step)
        env = environment(
            base, step.place, url, way.key,
            retries=patience.retries, api_seconds=patience.api_seconds,
        )  # fmt: skip
        try:
            return process.run(
                [*way.prefix(self._level), *words],
                cwd=workspace,
                env=env,
                log=step.stream,
                timeout=watch.timeout,
                stopping=session.stopping,
                started=lambda identity: watch.started(identity.as_mapping()),
                log_limit=watch.log_limit,
                merge_stderr=False,
                cage=self._cage(workspace, watch, step, way, env["PATH"]),
                talk=session.conversation,
            )
        finally:
            session.conversation.close()
            _keep_stderr(step.stream, watch)

    def _cage(self, workspace: Path, watch: Watch, step: "StepFolders", way: Way, path: str) -> Cage:
        own = readable([str(self.program)], path)
        return Cage(
            level=self._level,
            write=(workspace, step.place.home, *step.writable, *watch.writable),
            read=(*own, *way.reads, *to_read(watch)),
            gateway=way.socket,
            port=way.port_at(self._level),
            seats=seats_of(self._level, workspace, watch),
        )

    def _base(self, brief: Brief, watch: Watch, step: "StepFolders") -> dict[str, str]:
        """An allow-list, as for the command agent."""
        return {
            "LANG": "C.UTF-8",
            **{name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            "PATH": absolute_path(os.environ, self._start_folder),
            **{name: value for name, value in watch.env.items() if name not in OURS},
            **watch.checkout,
            "DAMASCUS_ROLE": brief.role,
            "DAMASCUS_BRIEF": str(watch.brief_file.absolute()),
            "DAMASCUS_REPORT": str(step.report),
        }

    @contextmanager
    def _folders(self, brief: Brief) -> Iterator["StepFolders"]:
        """A HOME that stays with the story, and folders of this step alone. A dead worker's are taken away."""
        homes = self._homes.absolute()
        home, steps = homes / brief.story_id, homes / ".steps" / brief.story_id
        shutil.rmtree(steps, ignore_errors=True)
        for folder in (home, steps):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=steps, ignore_cleanup_errors=True) as name:
            yield StepFolders.made(Path(name), home)


@dataclass(frozen=True)
class StepFolders:
    """`folder` is ours; below it, what the agent may write: its temporary files, its configuration, its report."""

    folder: Path
    place: Place
    report: Path
    writable: tuple[Path, ...]

    @classmethod
    def made(cls, folder: Path, home: Path) -> "StepFolders":
        parts = tuple(folder / name for name in ("tmp", "config", "out"))
        for part in parts:
            part.mkdir(mode=0o700)
        tmp, config, out = parts
        return cls(folder, Place(home, config, tmp), out / "report.json", parts)

    @property
    def stream(self) -> Path:
        return self.folder / "stream"


def _keep_stderr(stream: Path, watch: Watch) -> None:
    """Beside the transcript, as every agent's; the values of the workspace's variables masked."""
    kept = stderr_log(watch.transcript)
    make_way(kept)
    if stderr_log(stream).is_file():
        shutil.copyfile(stderr_log(stream), kept)
        mask_file(kept, watch.env.values())
