"""Mutants that a person called equivalent, by their marks: kept with the question that showed them."""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain.question_marks import MUTANTS, marks_of
from damascus.domain.recovery import EQUIVALENT
from damascus.store.db import Database


@dataclass(frozen=True)
class Reason:
    """In the person's own words, and when."""

    words: str
    at: datetime


def equivalents(db: Database, item: int) -> dict[str, Reason]:
    said = f"{EQUIVALENT}: "
    rows = db.all("answers_beginning", item=item, start=f"{MUTANTS} ", answer=said)
    return {
        mark: Reason(row["answer"].removeprefix(said), row["closed_at"])
        for row in rows
        for mark in marks_of(row["question"], MUTANTS)
    }
