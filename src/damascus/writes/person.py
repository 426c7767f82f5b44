"""The person's gate: who is asked about a write, and what can be answered (A11)."""

from dataclasses import dataclass
from typing import Literal, Protocol

from damascus.domain.visible import visible
from damascus.writes.proposal import Proposal


@dataclass(frozen=True)
class WriteQuestion:
    """One write that waits for a person."""

    story: str
    role: str
    tool: str
    proposal: Proposal


@dataclass(frozen=True)
class WriteAnswer:
    """`edited` is what the person made of the file."""

    word: Literal["apply", "edit", "reject"]
    reason: str = ""
    edited: bytes | None = None


class WritePerson(Protocol):
    """Asked in the terminal or from the inbox. No answer in time is a rejection."""

    def ask(self, question: WriteQuestion) -> WriteAnswer: ...


def parsed(text: str) -> WriteAnswer | None:
    """`apply`, `edit`, `reject: reason`, or their numbers; None for anything else."""
    word, _, reason = text.strip().partition(":")
    match word.strip().lower():
        case "1" | "a" | "apply":
            return WriteAnswer("apply")
        case "2" | "e" | "edit":
            return WriteAnswer("edit")
        case "3" | "r" | "reject":
            return WriteAnswer("reject", visible(reason))
        case _:
            return None
