"""One run of Claude Code as it is watched: what it told, whether and why it has to end, and what came of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from damascus.agents.claude_events import WRITING, Account
from damascus.agents.claude_protocol import Conversation
from damascus.agents.claude_transcript import Transcript
from damascus.agents.gateway_facts import GatewayFacts
from damascus.agents.handover import bring_back, read_report
from damascus.domain.ports import AgentRun, Report, Watch, WriteDecision, Writes
from damascus.system import process
from damascus.system.masking import masked

LAST_WORDS = 1.0
"""Seconds that an interrupted run gets to tell its totals."""
FAILED = 1
STOPPED, HOOK = "stopped", "hook"


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


class Session:
    """One run as it is watched: what was told, and whether and why it has to end."""

    def __init__(self, watch: Watch, transcript: Transcript, writes: Writes, hook_seconds: float) -> None:
        self.watch = watch
        self.account = Account()
        self.conversation = Conversation(watch.prompt, writes, self._told, hook_seconds)
        self._overseer = watch.overseer
        self._transcript = transcript
        self._trouble_told = False
        self._ended = ""
        self._unanswered = False
        self._interrupted_at: float | None = None

    def _told(self, event: Mapping[str, Any]) -> None:
        self._transcript.event(event)
        for sign, facts in self.account.take(event):
            self._overseer.saw(sign, **facts)
        self._look()

    def stopping(self) -> int:
        """Asked by the supervisor of the process, ten times a second."""
        self.conversation.tend()
        asked = int(self.watch.stopping())
        self._look(STOPPED if asked else "")
        if asked > 1 or self._interrupted_at is None:
            return asked if asked > 1 else 0
        return int(time.monotonic() - self._interrupted_at >= LAST_WORDS)

    def _look(self, stopped: str = "") -> None:
        """End it as soon as there is a reason: interrupted it does no more, and every further write is refused.

        Who watches may ask to stop it for the overseer's reason: then that is the reason.
        """
        if self.conversation.trouble and not self._trouble_told:
            self._trouble_told = True
            self._overseer.saw("hook_failed", reason=self.conversation.trouble)
        overseen = self._overseer.end() if self.account.result is None else ""
        if self._interrupted_at is None and (why := self._own_reason or overseen or stopped):
            self._ended = why
            self._unanswered = self.account.awaits_model
            self._interrupted_at = time.monotonic()
            self.conversation.interrupt()

    @property
    def _own_reason(self) -> str:
        """What needs no overseer: without checked writes, or for a long sleep of its own, it must not go on."""
        return HOOK if self.conversation.trouble else self.account.end

    # ── afterwards ────────────────────────────────────────────────────────────────────────────────────

    def outcome(self, done: process.Finished, facts: GatewayFacts, report: Path, confinement: str) -> AgentRun:
        """What was observed. The bridge counts tokens better than the stream: also what a shell command asked."""
        account = self.account
        if trouble := self.conversation.trouble:
            self._ended = self._ended or HOOK
            self._transcript.note(f"! {trouble}")
        if not account.version:
            self._transcript.note(done.tail)  # it never began: what it printed is all there is
        ended = self._ended or ("time" if done.timed_out else "turns" if account.out_of_turns else "")
        unavailable = self._unavailable(ended, facts)
        return AgentRun(
            exit_code=self._exit_code(done),
            timed_out=done.timed_out,
            stopped=ended == STOPPED,
            report=self._report(report),
            transcript=str(self.watch.transcript),
            tail=self._transcript.tail,
            seconds=done.seconds,
            ended="" if ended == STOPPED else ended,
            usage=facts.usage if facts.usage.tokens else account.usage,
            denial=account.denial if ended == "denied" else None,
            unavailable=unavailable,
            resets_in=_first(facts.resets_in, account.resets_in) if unavailable else None,
            confinement=confinement,
        )

    def _exit_code(self, done: process.Finished) -> int | None:
        if self._ended or done.timed_out:
            return None
        return FAILED if done.exit_code == 0 and self.account.failed else done.exit_code

    def _unavailable(self, ended: str, facts: GatewayFacts) -> str:
        if ended == "api_errors":
            return self.account.unavailable or facts.last_error or "too many API errors in a row"
        if ended == "idle" and self._unanswered:
            return "no answer came from the model"
        return "" if ended else self.account.unavailable

    def _report(self, path: Path) -> Report | None:
        """Its own report, else what it said at last: claims, both."""
        bring_back(path, self.watch.report_file)
        if (found := read_report(self.watch.report_file)) is not None:
            return found
        if self.account.result is None and not self.account.summary:
            return None
        return Report(summary=masked(self.account.summary, self.watch.env.values()), claims=self.account.claims)


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
