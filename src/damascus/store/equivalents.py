"""Mutants that a person called equivalent, by their marks: kept with the question that showed them."""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain.question_marks import MUTANTS, chosen_marks, marks_of
from damascus.domain.recovery import EQUIVALENT, SOME_EQUIVALENT
from damascus.store.db import Database, Row


@dataclass(frozen=True)
class Reason:
    """In the person's own words, and when."""

    words: str
    at: datetime


def equivalents(db: Database, item: int) -> dict[str, Reason]:
    """Of each mutant the last word."""
    every = [(row, _of_all(row)) for row in _answers(db, item, EQUIVALENT)]
    some = [(row, _of_some(row)) for row in _answers(db, item, SOME_EQUIVALENT)]
    return {
        mark: Reason(words, row["closed_at"])
        for row, (marks, words) in sorted((*every, *some), key=lambda one: one[0]["closed_at"])
        for mark in marks
    }


def _answers(db: Database, item: int, option: str) -> list[Row]:
    return db.all("answers_beginning", item=item, start=f"{MUTANTS} ", answer=f"{option}: ")


def _of_all(row: Row) -> tuple[list[str], str]:
    return marks_of(row["question"], MUTANTS), row["answer"].removeprefix(f"{EQUIVALENT}: ")


def _of_some(row: Row) -> tuple[list[str], str]:
    return chosen_marks(marks_of(row["question"], MUTANTS), row["answer"].removeprefix(f"{SOME_EQUIVALENT}: "))
