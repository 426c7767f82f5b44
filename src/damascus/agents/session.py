"""One run of a program with a model as it is watched: what it told, whether and why it has to end, what came of it."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from damascus.agents.handover import read_report
from damascus.agents.transcript import Transcript
from damascus.domain.ports import AgentRun, Denial, Report, Usage, Watch
from damascus.domain.signs import EndedBy, Sign
from damascus.gateway.facts import GatewayFacts
from damascus.system import process
from damascus.system.masking import masked
from damascus.system.talk import Talk

FAILED = 1


class Session(ABC):
    """Each program's own kind says what its events mean; how that becomes an AgentRun is the same for all."""

    def __init__(self, watch: Watch, transcript: Transcript) -> None:
        self.watch = watch
        self._transcript = transcript
        self._ended = EndedBy.ITSELF
        """Why we ended it; empty as long as it ends by itself."""

    @property
    @abstractmethod
    def talk(self) -> Talk:
        """The worker's side of the talk with it."""

    @abstractmethod
    def stopping(self) -> int:
        """Asked by the supervisor of the process, ten times a second: how urgently must it end?"""

    def saw(self, sign: Sign, **facts: Any) -> None:
        """What the bridge saw of its model calls, from the bridge's threads, one call at a time."""
        self.watch.overseer.saw(sign, **facts)

    def close(self) -> None:  # noqa: B027  most have nothing to do
        """The program is gone."""

    # ── afterwards ────────────────────────────────────────────────────────────────────────────────────

    @property
    @abstractmethod
    def begun(self) -> bool:
        """It said something that can be understood."""

    @property
    @abstractmethod
    def denial(self) -> Denial | None: ...

    @abstractmethod
    def failed(self, done: process.Finished) -> bool:
        """Whatever its exit code says: it did not come to its end."""

    @abstractmethod
    def unavailable(self, done: process.Finished, ended: EndedBy, facts: GatewayFacts) -> str:
        """Why the model could not be had, if that is what ended it."""

    @abstractmethod
    def last_words(self) -> tuple[str, dict[str, object]] | None:
        """What it said at last, and what it claims, for want of a report."""

    def out_of(self) -> EndedBy:
        """The limit of its own at which it ended by itself."""
        return EndedBy.ITSELF

    def usage(self, facts: GatewayFacts) -> Usage:
        """The bridge counts better than the program: also what a shell command asked."""
        return facts.usage

    def resets_in(self, facts: GatewayFacts) -> float | None:
        return facts.resets_in

    def outcome(self, done: process.Finished, facts: GatewayFacts, report: Path, confinement: str) -> AgentRun:
        """What was observed."""
        if not self.begun:
            self._transcript.note(done.tail)  # what it printed is all there is
        ended = self._ended or (EndedBy.TIME if done.timed_out else self.out_of())
        unavailable = self.unavailable(done, ended, facts)
        return AgentRun(
            exit_code=self._exit_code(done),
            timed_out=done.timed_out,
            stopped=ended == EndedBy.STOPPED,
            report=self._report(report),
            transcript=str(self.watch.transcript),
            tail=self._transcript.tail,
            seconds=done.seconds,
            ended=EndedBy.ITSELF if ended == EndedBy.STOPPED else ended,
            usage=self.usage(facts),
            denial=self.denial if ended == EndedBy.DENIED else None,
            unavailable=unavailable,
            resets_in=self.resets_in(facts) if unavailable else None,
            confinement=confinement,
        )

    def _exit_code(self, done: process.Finished) -> int | None:
        if self._ended or done.timed_out:
            return None
        return FAILED if done.exit_code == 0 and self.failed(done) else done.exit_code

    def _report(self, path: Path) -> Report | None:
        """Its own report, else what it said at last: claims, both."""
        found = read_report(path, self.watch.report_file)
        if (found is not None and not found.unreadable) or (words := self.last_words()) is None:
            return found
        why = found.unreadable if found else ""
        return Report(summary=masked(words[0], self.watch.env.values()), claims=words[1], unreadable=why)
