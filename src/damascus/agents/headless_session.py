"""One run of a program that prints an event per line, as it is watched: what it told, why it ends, what came of it.

Two witnesses: the program's events, which are what it says of itself, and the bridge, which sees every answer of the
provider. Turns, tokens and the provider's trouble are the bridge's to tell.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from damascus.agents.claude_transcript import Transcript
from damascus.agents.gateway_facts import GatewayFacts
from damascus.agents.handover import bring_back, read_report
from damascus.domain.failures import transient_status
from damascus.domain.ports import AgentRun, Denial, Overseer, Report, Watch
from damascus.system import process
from damascus.system.masking import masked
from damascus.system.seats import Seats
from damascus.system.talk import TalkLine

LONGEST_WAIT = 15.0
"""Seconds that a program may wait for a provider by itself; longer waits are the orchestrator's, without a process."""
ONE_LINE = 300
MOST_WORDS = 500
FAILED = 1
STOPPED = "stopped"

Event = Mapping[str, Any]
Sign = tuple[str, dict[str, object]]


class Reader(ABC):
    """What one run's events have told so far."""

    begun = False
    finished = False
    """It said itself that it came to its end, without an error."""
    error = ""
    text = ""
    denial: Denial | None = None
    seats = Seats()
    """Where the program sees its workspace."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace.resolve()

    @abstractmethod
    def take(self, event: Event) -> list[Sign]:
        """The signs of one event."""

    @abstractmethod
    def told(self, event: Event) -> Iterator[str]:
        """One event in words for the transcript; most are silent."""

    def outside(self, path: str) -> bool:
        """Not in the workspace, where the sandbox refuses a file tool."""
        return not (self._workspace / self.seats.outside(path)).resolve().is_relative_to(self._workspace)

    def denied(self, denial: Denial) -> list[Sign]:
        self.denial = denial
        return [("denied", {"denial": denial})]


class Provider:
    """The overseer's ear at the bridge: passes everything on, and knows what the last answer was."""

    def __init__(self, overseer: Overseer, retries: int) -> None:
        self._overseer = overseer
        self._retries = retries
        self.turns = 0
        self.errors = 0
        self.status = 0
        self.resets_in: float | None = None

    def saw(self, sign: str, **facts: Any) -> None:
        """From the bridge's threads, one call at a time."""
        if sign == "api_ok":
            self.turns, self.errors, self.resets_in = self.turns + 1, 0, None
            self._overseer.saw("turn")
        elif sign == "api_error":
            self.errors, self.status, self.resets_in = self.errors + 1, facts["status"], facts["resets_in"]
        self._overseer.saw(sign, **facts)

    @property
    def down(self) -> bool:
        """The last answer was an error that time may cure."""
        return self.errors > 0 and (transient_status(self.status) or self.status >= 500 or self.status == 408)

    @property
    def end(self) -> str:
        """Why the program must not go on trying, whatever the overseer thinks."""
        tried_enough = self.errors > self._retries or (self.resets_in or 0.0) > LONGEST_WAIT
        return "api_errors" if self.down and tried_enough else ""


class Session:
    """One run as it is watched, and the worker's side of the talk with it: the prompt there, events back."""

    def __init__(self, watch: Watch, transcript: Transcript, reader: Reader, retries: int) -> None:
        self.watch = watch
        self.reader = reader
        self.provider = Provider(watch.overseer, retries)
        self._transcript = transcript
        self._ended = ""

    def begin(self, line: TalkLine) -> None:
        line.say(self.watch.prompt.encode("utf-8", errors="replace"))
        line.hang_up()

    def heard(self, line: bytes) -> None:
        """A line that is no event is kept as it is: a program's last words are often not JSON."""
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self._transcript.note(line.decode(errors="replace"))
            return
        self.reader.begun = True
        self._transcript.event(event)
        for text in self.reader.told(event):
            self._transcript.note(text)
        for sign, facts in [("output", {}), *self.reader.take(event)]:
            self.watch.overseer.saw(sign, **facts)
        self._look()

    def stopping(self) -> int:
        """Asked by the supervisor of the process, ten times a second."""
        asked = int(self.watch.stopping())
        self._look(STOPPED if asked else "")
        return max(asked, int(bool(self._ended)))

    def _look(self, stopped: str = "") -> None:
        """Who watches may ask to stop it for the overseer's reason: then that is the reason."""
        if not self._ended:
            overseen = "" if self.reader.finished else self._own_reason or self.watch.overseer.end()
            self._ended = overseen or stopped

    @property
    def _own_reason(self) -> str:
        return "turns" if self.provider.turns > self.watch.max_turns else self.provider.end

    # ── afterwards ────────────────────────────────────────────────────────────────────────────────────

    def outcome(self, done: process.Finished, facts: GatewayFacts, report: Path, confinement: str) -> AgentRun:
        """What was observed."""
        if not self.reader.begun:
            self._transcript.note(done.tail)  # it never began: what it printed is all there is
        ended = self._ended or ("time" if done.timed_out else "")
        unavailable = self._unavailable(done, ended, facts)
        return AgentRun(
            exit_code=self._exit_code(done),
            timed_out=done.timed_out,
            stopped=ended == STOPPED,
            report=self._report(report),
            transcript=str(self.watch.transcript),
            tail=self._transcript.tail,
            seconds=done.seconds,
            ended="" if ended == STOPPED else ended,
            usage=facts.usage,
            denial=self.reader.denial if ended == "denied" else None,
            unavailable=unavailable,
            resets_in=facts.resets_in if unavailable else None,
            confinement=confinement,
        )

    def _failed(self, done: process.Finished) -> bool:
        return done.exit_code != 0 or not self.reader.finished

    def _exit_code(self, done: process.Finished) -> int | None:
        if self._ended or done.timed_out:
            return None
        return FAILED if done.exit_code == 0 and self._failed(done) else done.exit_code

    def _unavailable(self, done: process.Finished, ended: str, facts: GatewayFacts) -> str:
        if ended == "api_errors" or (not ended and self._failed(done) and self.provider.down):
            return f"API error {self.provider.status}: {facts.last_error}"
        return ""

    def _report(self, path: Path) -> Report | None:
        """Its own report, else what it said at last: claims, both."""
        bring_back(path, self.watch.report_file)
        if (found := read_report(self.watch.report_file)) is not None:
            return found
        if not self.reader.text:
            return None
        claims: dict[str, object] = {"finished": self.reader.finished, "error": self.reader.error}
        return Report(summary=masked(self.reader.text, self.watch.env.values()), claims=claims)


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= ONE_LINE else f"{line[:ONE_LINE]}… ({len(text)} characters)"
