"""An open question in words: what it is about, what it asks, what each answer does."""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain import recovery
from damascus.domain.recovery import NEED_WORDS, OptionId
from damascus.store.db import Row
from damascus.telling import asked
from damascus.telling.phrases import in_parts, listed, one_line
from damascus.telling.story import tests_word


@dataclass(frozen=True)
class NumberedAnswer:
    """What a person may choose: its effect ("" of an option that the question brought along), its command, whether it
    is nothing without words, whether it can't be taken back."""

    number: int
    text: str
    effect: str
    command: str
    needs_words: bool
    ends: bool


@dataclass(frozen=True)
class OpenQuestionTold:
    """All that is told of one. `story` is "" where it is about the whole project."""

    number: int
    story: str
    about: str
    since: datetime
    question: str
    shown: tuple[str, ...]
    answers: tuple[NumberedAnswer, ...]
    notes: tuple[str, ...]
    way: str
    owner: str
    waits_for_write: bool


def told(issue: Row) -> OpenQuestionTold:
    question, shown = in_parts(issue["question"])
    return OpenQuestionTold(
        number=issue["id"],
        story=issue["story_id"] or "",
        about=about(issue),
        since=issue["created_at"],
        question=question,
        shown=tuple(shown),
        answers=tuple(_answer(issue, n, text) for n, text in enumerate(issue["options"], 1)),
        notes=tuple(f"its agent notes: {one_line(concern)}" for concern in issue["concerns"] or []),
        way=asked.in_words(issue),
        owner=issue["owner"],
        waits_for_write=issue["kind"] == recovery.QuestionKind.WRITE,
    )


def about(issue: Row) -> str:
    """`dark mode · blocked after 3 of 5 tries, red: tests/test_theme.py::test_contrast`"""
    return f"{one_line(issue['title'])}{_state(issue)}" if issue["story_id"] else "the project"


def effect(issue: Row, text: str) -> str:
    """What that answer does; "" of an option that the question brought along."""
    option = recovery.option_of(text, story=issue["story_id"] is not None)
    return option.effect if option.id else ""


def _answer(issue: Row, number: int, text: str) -> NumberedAnswer:
    ends = recovery.option_of(text, story=issue["story_id"] is not None).id is OptionId.CANCEL
    words = text in NEED_WORDS
    command = f"damascus answer {issue['id']} {number}{' WORDS' if words else ''}"
    return NumberedAnswer(number, one_line(text), effect(issue, text), command, words, ends)


def _state(issue: Row) -> str:
    failing = (issue["last_feedback"] or {}).get("failing_tests") or []
    tries = (
        f" · {issue['phase']} after {issue['attempts']} of {issue['budget_cycles']} tries" if issue["attempts"] else ""
    )
    return tries + (f", {tests_word(issue['last_verdict'])}: {listed(failing, 2)}" if failing else "")
