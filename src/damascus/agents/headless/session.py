"""One run of a program that prints an event per line, as it is watched: what it told, why it ends, what came of it.

Two witnesses: the program's events, which are what it says of itself, and the bridge, which sees every answer of the
provider. Turns, tokens and the provider's trouble are the bridge's to tell.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from damascus.agents.session import Session
from damascus.agents.transcript import Transcript
from damascus.domain.failures import transient_status
from damascus.domain.ports import Denial, Overseer, Watch
from damascus.domain.signs import EndedBy, Observation, Sign
from damascus.gateway.facts import GatewayFacts
from damascus.system import process
from damascus.system.seats import Seats
from damascus.system.talk import Talk, TalkLine

LONGEST_WAIT = 15.0
"""Seconds that a program may wait for a provider by itself; longer waits are the orchestrator's, without a process."""
ONE_LINE = 300
MOST_WORDS = 500

Event = Mapping[str, Any]


class EventReader(ABC):
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
    def take(self, event: Event) -> list[Observation]:
        """The signs of one event."""

    @abstractmethod
    def told(self, event: Event) -> Iterator[str]:
        """One event in words for the transcript; most are silent."""

    def outside(self, path: str) -> bool:
        """Not in the workspace, where the sandbox refuses a file tool."""
        return not (self._workspace / self.seats.outside(path)).resolve().is_relative_to(self._workspace)

    def denied(self, denial: Denial) -> list[Observation]:
        self.denial = denial
        return [(Sign.DENIED, {"denial": denial})]


class Provider:
    """The overseer's ear at the bridge: passes everything on, and knows what the last answer was."""

    def __init__(self, overseer: Overseer, retries: int) -> None:
        self._overseer = overseer
        self._retries = retries
        self.turns = 0
        self.errors = 0
        self.status = 0
        self.resets_in: float | None = None

    def saw(self, sign: Sign, **facts: Any) -> None:
        """From the bridge's threads, one call at a time."""
        if sign == Sign.API_OK:
            self.turns, self.errors, self.resets_in = self.turns + 1, 0, None
            self._overseer.saw(Sign.TURN)
        elif sign == Sign.API_ERROR:
            self.errors, self.status, self.resets_in = self.errors + 1, facts["status"], facts["resets_in"]
        self._overseer.saw(sign, **facts)

    @property
    def down(self) -> bool:
        """The last answer was an error that time may cure."""
        return self.errors > 0 and (transient_status(self.status) or self.status >= 500 or self.status == 408)

    @property
    def end(self) -> EndedBy:
        """Why the program must not go on trying, whatever the overseer thinks."""
        tried_enough = self.errors > self._retries or (self.resets_in or 0.0) > LONGEST_WAIT
        return EndedBy.API_ERRORS if self.down and tried_enough else EndedBy.ITSELF


class HeadlessSession(Session):
    """The prompt there, events back; ended by us it gets signals."""

    def __init__(self, watch: Watch, transcript: Transcript, reader: EventReader, retries: int) -> None:
        super().__init__(watch, transcript)
        self.reader = reader
        self.provider = Provider(watch.overseer, retries)

    @property
    def talk(self) -> Talk:
        return self

    def saw(self, sign: Sign, **facts: Any) -> None:
        self.provider.saw(sign, **facts)

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
        for sign, facts in [(Sign.OUTPUT, {}), *self.reader.take(event)]:
            self.watch.overseer.saw(sign, **facts)
        self._look()

    def stopping(self) -> int:
        asked = int(self.watch.stopping())
        self._look(EndedBy.STOPPED if asked else EndedBy.ITSELF)
        return max(asked, int(bool(self._ended)))

    def _look(self, stopped: EndedBy = EndedBy.ITSELF) -> None:
        """Who watches may ask to stop it for the overseer's reason: then that is the reason."""
        if not self._ended:
            overseen = EndedBy.ITSELF if self.reader.finished else self._own_reason or self.watch.overseer.end()
            self._ended = overseen or stopped

    @property
    def _own_reason(self) -> EndedBy:
        return EndedBy.TURNS if self.provider.turns > self.watch.max_turns else self.provider.end

    # ── afterwards ────────────────────────────────────────────────────────────────────────────────────

    @property
    def begun(self) -> bool:
        return self.reader.begun

    @property
    def denial(self) -> Denial | None:
        return self.reader.denial

    def failed(self, done: process.Finished) -> bool:
        return done.exit_code != 0 or not self.reader.finished

    def unavailable(self, done: process.Finished, ended: EndedBy, facts: GatewayFacts) -> str:
        if ended == EndedBy.API_ERRORS or (not ended and self.failed(done) and self.provider.down):
            return f"API error {self.provider.status}: {facts.last_error}"
        return ""

    def last_words(self) -> tuple[str, dict[str, object]] | None:
        if not self.reader.text:
            return None
        return self.reader.text, {"finished": self.reader.finished, "error": self.reader.error}


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= ONE_LINE else f"{line[:ONE_LINE]}… ({len(text)} characters)"
