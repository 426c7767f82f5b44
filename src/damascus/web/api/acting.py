"""What a program does is written down: who, what, from where, and what came of it."""

from contextlib import AbstractContextManager

from damascus.people.audit import ActOutcome, audited
from damascus.web.callers import Caller, caller_of
from damascus.web.looking import Look


def caller_in(look: Look) -> Caller:
    found = caller_of(look.request.scope)
    assert found is not None, "the guard is in front of every write"
    return found


def acting(look: Look, verb: str, target: str) -> AbstractContextManager[ActOutcome]:
    """Around the act itself."""
    caller = caller_in(look)
    return audited(look.app.database, look.project, caller.who, (verb, target), caller.where)
