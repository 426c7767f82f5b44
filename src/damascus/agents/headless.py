"""Agents that are programs with a model and no hooks: they get the prompt, print an event per line, and end.

    prepare      folders of this step, the way to the model, the program's own configuration
    read         each event: transcript, signs for the overseer, what is known at the end (headless_session.py)
    end          by itself, or by us: signals
    tell         AgentRun: what was observed; its exit code 0 is no word that it finished

What a program needs to be started so, and what its events mean, is in its own file (codex.py, opencode.py). Nobody
is asked before they write: the write pipeline runs over git's diff after the step.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.agents.binaries import gone, version_of
from damascus.agents.claude_transcript import Transcript, written_to
from damascus.agents.command import readable
from damascus.agents.gateway import GatewayBridge, Way
from damascus.agents.gateway_ping import Api
from damascus.agents.handover import hand_over
from damascus.agents.headless_session import FAILED, Reader, Session
from damascus.agents.seating import fetched_by_setup, seats_of, to_read
from damascus.agents.surroundings import Surroundings
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.system import process
from damascus.system.sandbox import Cage, Level, detect

DEFAULT_MODEL = "minimax-m3"


@dataclass(frozen=True)
class Patience:
    """How long a program tries by itself. `retries` are few, so that the orchestrator stays in command."""

    retries: int = 2
    api_seconds: float = 600.0


@dataclass(frozen=True)
class Model:
    """The model as the program is told of it: through the bridge, with a key that is worth nothing elsewhere."""

    name: str
    url: str
    key: str
    patience: Patience


class HeadlessAgent(ABC):
    """`start_folder` is where damascus was started, `homes` holds the folders of each step."""

    name: str
    api: Api
    """What its model speaks."""
    pings = True

    def __init__(
        self, program: Path, bridge: GatewayBridge, *, start_folder: Path, homes: Path,
        level: Level | None = None, patience: Patience | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self._bridge = bridge
        self._level = level or detect()
        self._start_folder = start_folder
        self._homes = homes
        self._patience = patience or Patience()

    @abstractmethod
    def configured(self, model: Model, step: Surroundings, workspace: Path) -> Mapping[str, str]:
        """Write the program's own configuration; the variables that lead it there. It sees its work in `workspace`."""

    @abstractmethod
    def words(self, model: Model) -> list[str]:
        """The command's arguments. The prompt comes on its stdin."""

    @abstractmethod
    def reader(self, workspace: Path) -> Reader:
        """Who understands its events."""

    def refusal(self, workspace: Path) -> str:
        """Why it must not be started there; "" when it may."""
        return ""

    @property
    def confinement(self) -> str:
        return self._level.value

    @property
    def version(self) -> str:
        return version_of(self.program)

    @property
    def gateway(self) -> str:
        return self._bridge.url

    def fault(self, model: str, *, ping: bool) -> str:
        return gone(self.program) or (self._bridge.fault(self.api, model or DEFAULT_MODEL) if ping else "")

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        hand_over(brief, watch.brief_file, watch.report_file)
        with written_to(watch.transcript, watch.log_limit, watch.env.values()) as transcript:
            transcript.note(f"{self.name} {self.version}, {watch.model or DEFAULT_MODEL}, {self.confinement}")
            transcript.note(watch.prompt)
            if why := self.refusal(workspace):
                transcript.note(why)
                where, tail = str(watch.transcript), transcript.tail
                return AgentRun(exit_code=FAILED, transcript=where, tail=tail, confinement=self.confinement)
            return self._watched(brief, workspace, watch, transcript)

    def _watched(self, brief: Brief, workspace: Path, watch: Watch, transcript: Transcript) -> AgentRun:
        seats = seats_of(self._level, workspace, watch)
        reader = self.reader(workspace)
        reader.seats = seats
        session = Session(watch, transcript, reader, self._patience.retries)
        with (
            Surroundings.of(self._homes, brief.story_id) as step,
            self._bridge.open(step.folder, session.provider.saw) as way,
        ):
            done = self._start(brief, workspace, session, step, way)
            facts = way.facts()
            run = session.outcome(done, facts, step.report, self.confinement)
            return self._bridge.marked(run, facts, watch.model or DEFAULT_MODEL)

    def _start(self, brief: Brief, workspace: Path, session: Session, step: Surroundings, way: Way) -> process.Finished:
        watch, url = session.watch, way.base_url(self._level)
        model = Model(watch.model or DEFAULT_MODEL, f"{url}/v1", way.key, self._patience)
        seats = seats_of(self._level, workspace, watch)
        env = fetched_by_setup(watch, seats) | step.environment(brief, watch, self._start_folder, url)
        env |= self.configured(model, step, Path(seats.inside(workspace)))
        try:
            return process.run(
                [*way.prefix(self._level), str(self.program), *self.words(model)],
                cwd=workspace,
                env=env,
                log=step.stream,
                timeout=watch.timeout,
                stopping=session.stopping,
                started=lambda identity: watch.started(identity.as_mapping()),
                log_limit=watch.log_limit,
                merge_stderr=False,
                cage=self._cage(workspace, watch, step, way, env["PATH"]),
                talk=session,
            )
        finally:
            step.keep_stderr(watch)

    def _cage(self, workspace: Path, watch: Watch, step: Surroundings, way: Way, path: str) -> Cage:
        return Cage(
            level=self._level,
            write=(workspace, *step.parts, *watch.writable),
            read=(*readable([str(self.program)], path), *way.reads, *to_read(watch)),
            gateway=way.socket,
            port=way.port_at(self._level),
            seats=seats_of(self._level, workspace, watch),
        )
