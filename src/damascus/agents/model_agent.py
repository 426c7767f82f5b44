"""Agents that are a program with a model: how each of them is prepared, started, read and ended.

    prepare      folders and environment of this step, the way to the model, the program's own configuration
    read         each event: transcript, signs for the overseer, what is known at the end (session.py)
    end          by itself, or by us
    tell         AgentRun: what was observed

What a program needs to be started so, and what its events mean, is in its own folder (claude/, headless/).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.agents.binaries import gone, version_of
from damascus.agents.handover import hand_over
from damascus.agents.session import FAILED, Session
from damascus.agents.surroundings import Surroundings
from damascus.agents.transcript import Transcript, written_to
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.gateway.bridge import GatewayBridge, WayOut
from damascus.gateway.ping import Api
from damascus.system import process
from damascus.system.sandbox import Level, detect

DEFAULT_MODEL = "minimax-m3"


@dataclass(frozen=True)
class Patience:
    """How long a program tries by itself. `retries` are few, so that the orchestrator stays in command.

    `hook_seconds` None: a hook may take as long as the step, since it may be a person who looks at a diff.
    """

    retries: int = 2
    api_seconds: float = 600.0
    hook_seconds: float | None = None


@dataclass(frozen=True)
class Model:
    """The model as the program is told of it: through the bridge, with a key that is worth nothing elsewhere."""

    name: str
    bridge: str
    key: str
    patience: Patience

    @property
    def url(self) -> str:
        """As OpenAI's clients want it."""
        return f"{self.bridge}/v1"


class ModelAgent(ABC):
    """`start_folder` is where damascus was started, `homes` holds the folders of each step."""

    name: str
    api: Api
    """What its model speaks."""
    pings = True
    keeps_home = False
    """HOME stays with the story; else it is new for each step."""

    def __init__(
        self, program: Path, bridge: GatewayBridge, *, start_folder: Path, homes: Path,
        level: Level | None = None, patience: Patience | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self.patience = patience or Patience()
        self._bridge = bridge
        self._level = level or detect()
        self._start_folder = start_folder
        self._homes = homes

    @abstractmethod
    def session(self, around: Surroundings, transcript: Transcript) -> Session:
        """Who talks with it, reads its events and says when it has to end."""

    @abstractmethod
    def command(self, model: Model, around: Surroundings) -> list[str]:
        """The program and its arguments. The prompt comes on its stdin."""

    @abstractmethod
    def settings(self, model: Model, around: Surroundings) -> Mapping[str, str]:
        """The variables that it needs beside everybody's; its configuration is written by the way."""

    def refusal(self, workspace: Path) -> str:
        """Why it must not be started there; "" when it may."""
        return ""

    def refused(self) -> AgentRun:
        """What a refusal counts as."""
        return AgentRun(exit_code=FAILED)

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
                facts = {"transcript": str(watch.transcript), "tail": transcript.tail, "confinement": self.confinement}
                return self.refused().model_copy(update=facts)
            around = (self._homes, brief, workspace, watch, self._level)
            with Surroundings.of(*around, keeps_home=self.keeps_home) as step:
                return self._watched(step, transcript)

    def _watched(self, around: Surroundings, transcript: Transcript) -> AgentRun:
        session = self.session(around, transcript)
        with self._bridge.open(around.folder, session.saw) as way:
            done = self._start(session, around, way)
            facts = way.facts()
            run = session.outcome(done, facts, around.report, self.confinement)
            return self._bridge.marked(run, facts, around.watch.model or DEFAULT_MODEL)

    def _start(self, session: Session, around: Surroundings, way: WayOut) -> process.Finished:
        watch = around.watch
        model = Model(watch.model or DEFAULT_MODEL, way.base_url(self._level), way.key, self.patience)
        env = {**around.environment(self._start_folder), **self.settings(model, around)}
        try:
            return process.run(
                [*way.prefix(self._level), *self.command(model, around)],
                cwd=around.workspace,
                env=env,
                log=around.stream,
                timeout=watch.timeout,
                stopping=session.stopping,
                started=lambda identity: watch.started(identity.as_mapping()),
                log_limit=watch.log_limit,
                merge_stderr=False,
                cage=around.cage(self.program, env["PATH"], way),
                talk=session.talk,
            )
        finally:
            session.close()
            around.keep_stderr()
