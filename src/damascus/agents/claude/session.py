"""One run of Claude Code as it is watched: what it told, whether and why it has to end, and what came of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from damascus.agents.claude.events import WRITING, StreamAccount
from damascus.agents.claude.protocol import Conversation
from damascus.agents.session import Session
from damascus.agents.transcript import Transcript
from damascus.domain.ports import AgentRun, Denial, Usage, Watch, WriteDecision, Writes
from damascus.domain.signs import EndedBy, Sign
from damascus.gateway.facts import GatewayFacts
from damascus.system import process
from damascus.system.talk import Talk

LAST_WORDS = 1.0
"""Seconds that an interrupted run gets to tell its totals."""


class Unchecked:
    """For a step without a pipeline."""

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        return WriteDecision(allowed=True)

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        return ""


class ReportIsFree:
    """The report is no part of the work: whoever may write nothing else may write it, and nobody checks it."""

    def __init__(self, writes: Writes, report: Path, workspace: Path) -> None:
        self._writes, self._report, self._workspace = writes, report, workspace

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        return WriteDecision(allowed=True) if self._is_report(tool, given) else self._writes.propose(tool, given)

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        return "" if self._is_report(tool, given) else self._writes.applied(tool, given)

    def _is_report(self, tool: str, given: Mapping[str, object]) -> bool:
        path = given.get("file_path")
        return tool in WRITING and isinstance(path, str) and self._workspace / path == self._report


class ClaudeSession(Session):
    """Ended by us it is interrupted first, so that it tells its totals."""

    def __init__(self, watch: Watch, transcript: Transcript, writes: Writes, hook_seconds: float) -> None:
        super().__init__(watch, transcript)
        self.account = StreamAccount()
        self.conversation = Conversation(watch.prompt, writes, self._heard, hook_seconds)
        self._overseer = watch.overseer
        self._trouble_reported = False
        self._unanswered = False
        self._interrupted_at: float | None = None

    @property
    def talk(self) -> Talk:
        return self.conversation

    def close(self) -> None:
        self.conversation.close()

    def _heard(self, event: Mapping[str, Any]) -> None:
        self._transcript.event(event)
        for sign, facts in self.account.take(event):
            self._overseer.saw(sign, **facts)
        self._look()

    def stopping(self) -> int:
        self.conversation.tend()
        asked = int(self.watch.stopping())
        self._look(EndedBy.STOPPED if asked else EndedBy.ITSELF)
        if asked > 1 or self._interrupted_at is None:
            return asked if asked > 1 else 0
        return int(time.monotonic() - self._interrupted_at >= LAST_WORDS)

    def _look(self, stopped: EndedBy = EndedBy.ITSELF) -> None:
        """End it as soon as there is a reason: interrupted it does no more, and every further write is refused.

        Who watches may ask to stop it for the overseer's reason: then that is the reason.
        """
        if self.conversation.trouble and not self._trouble_reported:
            self._trouble_reported = True
            self._overseer.saw(Sign.HOOK_FAILED, reason=self.conversation.trouble)
        overseen = self._overseer.end() if self.account.result is None else EndedBy.ITSELF
        if self._interrupted_at is None and (why := self._own_reason or overseen or stopped):
            self._ended = why
            self._unanswered = self.account.awaits_model
            self._interrupted_at = time.monotonic()
            self.conversation.interrupt()

    @property
    def _own_reason(self) -> EndedBy:
        """What needs no overseer: without checked writes, or for a long sleep of its own, it must not go on."""
        return EndedBy.HOOK if self.conversation.trouble else self.account.end

    # ── afterwards ────────────────────────────────────────────────────────────────────────────────────

    def outcome(self, done: process.Finished, facts: GatewayFacts, report: Path, confinement: str) -> AgentRun:
        if trouble := self.conversation.trouble:
            self._ended = self._ended or EndedBy.HOOK
            self._transcript.note(f"! {trouble}")
        return super().outcome(done, facts, report, confinement)

    @property
    def begun(self) -> bool:
        return bool(self.account.version)

    @property
    def denial(self) -> Denial | None:
        return self.account.denial

    def failed(self, done: process.Finished) -> bool:
        return self.account.failed

    def out_of(self) -> EndedBy:
        return EndedBy.TURNS if self.account.out_of_turns else EndedBy.ITSELF

    def usage(self, facts: GatewayFacts) -> Usage:
        return facts.usage if facts.usage.tokens else self.account.usage

    def resets_in(self, facts: GatewayFacts) -> float | None:
        return self.account.resets_in if facts.resets_in is None else facts.resets_in

    def unavailable(self, done: process.Finished, ended: EndedBy, facts: GatewayFacts) -> str:
        if ended == EndedBy.API_ERRORS:
            return self.account.unavailable or facts.last_error or "too many API errors in a row"
        if ended == EndedBy.IDLE and self._unanswered:
            return "no answer came from the model"
        return "" if ended else self.account.unavailable

    def last_words(self) -> tuple[str, dict[str, object]] | None:
        if self.account.result is None and not self.account.summary:
            return None
        return self.account.summary, self.account.claims
