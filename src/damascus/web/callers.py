"""Who asks: the guard finds it out once, everything behind it only reads it."""

from dataclasses import dataclass
from typing import Literal

from starlette.types import Scope as AsgiScope

from damascus.people.acts import Actor

KEY = "damascus.caller"
May = Literal["read", "act"]


@dataclass(frozen=True)
class Caller:
    """`csrf` is what a form of this browser must bring back; "" for a program, which has a token instead."""

    who: Actor
    may: May
    csrf: str = ""
    where: str = ""


def caller_of(scope: AsgiScope) -> Caller | None:
    """None: on one of the few paths that are open to everybody."""
    found = scope.get(KEY)
    return found if isinstance(found, Caller) else None
