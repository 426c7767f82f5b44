"""The conversation with Claude Code: its stream-json control protocol, with the write pipeline as its hooks.

Order of a run: we say `initialize` and register our hooks; only when the CLI confirms that a failing hook blocks do
we say the prompt; each tool that writes asks our hook before and after; after the result we hang up.

Hooks fail open unless told otherwise, so each is registered with `onFailure: block`, and whatever goes wrong here is
answered as an error. A hook may take long (a compiler, a person who looks at a diff), so hooks run one after another in
a thread of their own, and the supervising thread goes on watching the clock. It alone says the answers: at once when
they come soon, else with its next look (`tend`).
"""

import json
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from damascus.domain.ports import WriteDecision, Writes
from damascus.system.talk import TalkLine

MATCHED = "Write|Edit|MultiEdit|NotebookEdit|Bash"
BEFORE, AFTER = "PreToolUse", "PostToolUse"
SOON = 0.5
"""Seconds for which the supervising thread waits for a hook before it looks after other things."""
START, INTERRUPT = "damascus-start", "damascus-interrupt"

Answer = Mapping[str, object]


class HookTrouble(Exception):
    """The pipeline gave no usable answer: the tool must not run."""


def hooks(seconds: float) -> dict[str, object]:
    """What `initialize` registers. `onFailure` belongs into this entry; elsewhere it is silently ignored."""
    return {
        event: [{"matcher": MATCHED, "hookCallbackIds": [event], "timeout": max(1, round(seconds)),
                 "onFailure": "block"}]
        for event in (BEFORE, AFTER)
    }  # fmt: skip


def ask(writes: Writes, event: str, tool: str, given: Mapping[str, object]) -> Answer:
    """One hook's answer, in the words of the protocol. An empty one leaves the decision to the CLI's own rules."""
    if event == AFTER:
        text = writes.applied(tool, given)
        if not isinstance(text, str):
            raise HookTrouble(f"the check after {tool} answered with {type(text).__name__}")
        return {"decision": "block", "reason": text} if text else {}
    decision = writes.propose(tool, given)
    if not isinstance(decision, WriteDecision):
        raise HookTrouble(f"the check before {tool} answered with {type(decision).__name__}")
    if not decision.allowed:
        return _before("deny", permissionDecisionReason=decision.reason or "this write is refused")
    if decision.replaced is not None:
        return _before("allow", updatedInput=decision.replaced)
    return {}


def _before(decision: str, **more: object) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": BEFORE, "permissionDecision": decision, **more}}


@dataclass(frozen=True)
class HookQuestion:
    """A hook's question."""

    request: str
    event: str
    tool: str
    given: Mapping[str, object]


class HookDesk:
    """Answers the hooks one after another. A hook that never ends keeps its thread; nobody waits for it."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes
        self._asked: queue.SimpleQueue[HookQuestion | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[tuple[HookQuestion, Answer | Exception]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="write hooks", daemon=True).start()

    def put(self, asked: HookQuestion) -> None:
        self._asked.put(asked)

    def close(self) -> None:
        self._asked.put(None)

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            try:
                answer: Answer | Exception = ask(self._writes, asked.event, asked.tool, asked.given)
            except BaseException as err:  # also a SystemExit of a pipeline's part is no permission
                answer = err if isinstance(err, Exception) else HookTrouble(repr(err))
            self.answers.put((asked, answer))


class Conversation:
    """A Talk (system/talk.py). `told` gets every event that is none of the protocol's own.

    `trouble` says why it can't go on: the CLI does not block on failing hooks, or one of ours failed.
    """

    def __init__(
        self, prompt: str, writes: Writes, told: Callable[[Mapping[str, Any]], None], hook_seconds: float
    ) -> None:
        self.trouble = ""
        self.finished = False
        self._prompt = prompt
        self._desk = HookDesk(writes)
        self._told = told
        self._hook_seconds = hook_seconds
        self._line: TalkLine | None = None
        self._open: set[str] = set()
        self._tasks = 0
        self._over = False

    def begin(self, line: TalkLine) -> None:
        self._line = line
        self._request(START, {"subtype": "initialize", "hooks": hooks(self._hook_seconds)})

    def heard(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        match event:
            case {"type": "control_response", "response": {"request_id": request} as response} if request == START:
                self._started(response)
            case {"type": "control_request", "request_id": str(request), "request": dict(wish)}:
                self._asked(request, wish)
            case {"type": "control_cancel_request", "request_id": str(request)}:
                self._cancelled(request)
            case {"type": str()}:
                self._event(event)

    def tend(self) -> None:
        """Say what slow hooks have answered meanwhile."""
        while self._take_answer(0.0):
            pass

    def interrupt(self) -> None:
        """End the turn; a result with its totals follows. Whatever a hook says from now on, nothing is written."""
        self._over = True
        self._request(INTERRUPT, {"subtype": "interrupt"})

    def close(self) -> None:
        self._desk.close()

    # ── what it says ──────────────────────────────────────────────────────────────────────────────────

    def _event(self, event: Mapping[str, Any]) -> None:
        if event.get("subtype") == "background_tasks_changed":
            tasks = event.get("tasks")
            self._tasks = len(tasks) if isinstance(tasks, list) else 0
        self._told(event)
        if event["type"] == "result" and not self._tasks:
            self._hang_up()

    def _started(self, response: Mapping[str, Any]) -> None:
        """Only now, and only if a failing hook blocks, does it get its task."""
        found = response.get("response")
        sure = isinstance(found, dict) and found.get("hook_on_failure_supported") is True
        if response.get("subtype") != "success" or not sure:
            self._give_up("this version of Claude Code does not block a tool whose hook fails; install another")
            return
        message = {"role": "user", "content": self._prompt}
        self._say({"type": "user", "session_id": "", "parent_tool_use_id": None, "message": message})

    def _asked(self, request: str, wish: Mapping[str, Any]) -> None:
        match wish:
            case {"subtype": "hook_callback"} if self._over or self.trouble:
                self._refuse(request, "the run has ended")
            case {
                "subtype": "hook_callback",
                "callback_id": str(event),
                "input": {"tool_name": str(tool), "tool_input": dict(given)},
            } if event in (BEFORE, AFTER):
                self._open.add(request)
                self._desk.put(HookQuestion(request, event, tool, given))
                self._take_answer(SOON)
            case {"subtype": "hook_callback"}:
                self._refuse(request, "the hook was called in a way that it doesn't know")
                self.trouble = self.trouble or "Claude Code called a hook in a way that this version doesn't know"
            case _:
                self._refuse(request, "not supported")

    def _cancelled(self, request: str) -> None:
        """It waited for a hook in vain and has refused the tool itself."""
        if request in self._open:
            self._open.discard(request)
            self.trouble = self.trouble or "the write pipeline did not answer in time"

    def _take_answer(self, patience: float) -> bool:
        try:
            asked, answer = self._desk.answers.get(timeout=patience) if patience else self._desk.answers.get_nowait()
        except queue.Empty:
            return False
        if asked.request not in self._open:
            return True
        self._open.discard(asked.request)
        if self._over:
            self._refuse(asked.request, "the run has ended")
        elif isinstance(answer, Exception):
            self._refuse(asked.request, "the write pipeline failed, so this was not done")
            self.trouble = self.trouble or f"the write pipeline failed at {asked.tool}: {_named(answer)}"
        else:
            self._respond({"subtype": "success", "request_id": asked.request, "response": dict(answer)})
        return True

    # ── what we say ───────────────────────────────────────────────────────────────────────────────────

    def _request(self, request: str, wish: Mapping[str, object]) -> None:
        self._say({"type": "control_request", "request_id": request, "request": wish})

    def _refuse(self, request: str, why: str) -> None:
        self._respond({"subtype": "error", "request_id": request, "error": why})

    def _respond(self, response: Mapping[str, object]) -> None:
        self._say({"type": "control_response", "response": response})

    def _say(self, words: Mapping[str, object]) -> None:
        if self._line is not None and not self.finished:
            self._line.say(json.dumps(words).encode() + b"\n")

    def _give_up(self, why: str) -> None:
        self.trouble = self.trouble or why
        self._hang_up()

    def _hang_up(self) -> None:
        if self._line is not None and not self.finished:
            self._line.hang_up()
        self.finished = True


def _named(err: Exception) -> str:
    return str(err) if isinstance(err, HookTrouble) else f"{type(err).__name__}: {err}"
