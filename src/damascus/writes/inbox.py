"""A person is asked about a write from the inbox: the story goes on holding its slot, its agent waits.

Nobody has to be there: after the time limit, or when the worker stops, it is a rejection with that reason.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from damascus.store import people
from damascus.store.db import Database
from damascus.writes.bounds import shown
from damascus.writes.person import WriteAnswer, WriteQuestion, parsed
from damascus.writes.staging import Meta, Staged, Staging, Status

OPTIONS = ["apply", "edit", "reject"]
TIME_LIMIT = 600.0
POLL = 0.5
NOBODY = "nobody answered in time"
STOPPED = "the worker stopped while it waited for a person"
STATUS: dict[str, Status] = {"apply": "applied", "edit": "applied", "reject": "rejected"}


@dataclass
class InboxPerson:
    """One story's. Questions that a dead worker of it left are closed first: nobody waits for them."""

    db: Database
    project: int
    item: int
    staging: Staging
    stopping: Callable[[], bool]
    time_limit: float = TIME_LIMIT
    poll: float = POLL

    def __post_init__(self) -> None:
        people.close_write_questions(self.db, self.item, "nobody waits for it any more")

    def ask(self, question: WriteQuestion) -> WriteAnswer:
        staged = self._stage(question)
        text = _text(question, staged)
        issue = people.ask_about_write(self.db, self.project, self.item, text, OPTIONS)
        staged = self.staging.note(staged, issue=issue)
        answer = self._wait(issue)
        self.staging.note(staged, status=STATUS[answer.word], reason=answer.reason)
        return answer if answer.word != "edit" else WriteAnswer("edit", edited=staged.after)

    def _stage(self, question: WriteQuestion) -> Staged:
        proposal = question.proposal
        meta = Meta(path=shown(proposal.path), root="", story=question.story, role=question.role, tool=question.tool)
        return self.staging.add(meta, proposal.before, proposal.after)

    def _wait(self, issue: int) -> WriteAnswer:
        deadline = time.monotonic() + self.time_limit
        while (text := people.answer_about_write(self.db, self.project, issue)) is None:
            reason = STOPPED if self.stopping() else NOBODY if time.monotonic() >= deadline else ""
            if reason:
                people.close_write_questions(self.db, self.item, reason)
                return WriteAnswer("reject", reason)
            time.sleep(self.poll)
        return parsed(text) or WriteAnswer("reject", f"the answer was {text!r}")


def _text(question: WriteQuestion, staged: Staged) -> str:
    n, path = staged.meta.n, staged.meta.path
    return (
        f"Apply this write of {question.role} to {path}? See it: damascus write show {n}. To change it, edit "
        f"{staged.after_file} and answer edit. To refuse it: reject: and the reason, which the agent is told."
    )
