"""A person answers questions: one, or every one that offers the same."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from damascus.app import App, Project
from damascus.domain import recovery
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.recovery import Chosen, OptionId, QuestionAbout, QuestionKind
from damascus.people import breakages
from damascus.people.acts import Actor, Done, goes_on
from damascus.people.places import repository_of
from damascus.people.recoveries import Answering, about_story
from damascus.store import halts, people
from damascus.store.db import Row
from damascus.writes.person import parsed


@dataclass(frozen=True)
class OpenQuestion:
    """An open question, and the repository that it is about as far as this host has it."""

    row: Row
    project: Project

    @property
    def number(self) -> int:
        return int(self.row["id"])


@dataclass(frozen=True)
class Answered(Done):
    """The question's number, its story if it has one, and the answer as it was given."""

    question: int
    story: str | None
    answer: str


@dataclass(frozen=True)
class AllAnswered(Done):
    """The questions that were answered, how many are left, and the answer as it was given."""

    questions: tuple[int, ...]
    left: int
    answer: str


def question(app: App, project: Project, number: int) -> OpenQuestion:
    """The open question with that number."""
    row = people.open_question(app.database, project.row.id, number)
    if row["story_id"] is not None:
        with suppress(DamascusError):  # the answer counts, wherever the story's files are
            project = repository_of(app, project, row["story_id"])
    return OpenQuestion(row, project)


def answer(app: App, asked: OpenQuestion, said: str, person: Actor) -> Answered:
    """By an option's number or id, with words if wanted, or by own words alone."""
    done = (
        _about_write(app, asked, said)
        if asked.row["kind"] == QuestionKind.WRITE
        else _decided(app, asked, said, person)
    )
    return Answered(done.said, done.following, asked.number, asked.row["story_id"], said)


def answer_all(app: App, project: Project, said: str, actor_in: Callable[[Project], Actor]) -> AllAnswered:
    """What the first question offers there; others that offer the same get the same answer, the rest are left. Who acts
    in the repository of each question, the caller says."""
    asked = app.database.all("open_issues", project=project.row.id)
    choices = dict(_offered(asked, said))
    if not choices:
        raise DamascusError(f"no open question has an option {said.split(maxsplit=1)[0]!r}. See them: damascus inbox")
    first = next(iter(choices.values()))
    if first.id is OptionId.SOME_EQUIVALENT:
        raise UsageError("the numbers of mutants are those of one question. Answer each by itself: damascus inbox")
    meant = [number for number, choice in choices.items() if (choice.id, choice.option) == (first.id, first.option)]
    for number in meant:
        asked_now = question(app, project, number)
        answer(app, asked_now, said, actor_in(asked_now.project))
    left = len(asked) - len(meant)
    effect = recovery.option_of(first.option).effect
    told = f"{len(meant)} questions are answered: {first.told} ({effect})." + (f" {left} are left." if left else "")
    return AllAnswered(told, "damascus inbox" if left else goes_on(), tuple(meant), left, said)


def _offered(asked: list[Row], said: str) -> Iterator[tuple[int, Chosen]]:
    """The questions that have such an option; an agent that waits for its write is answered by itself."""
    for row in asked:
        with suppress(DamascusError):
            if row["kind"] != "write" and (choice := _chosen(row, said)).option:
                yield row["id"], choice


def _chosen(row: Row, said: str) -> Chosen:
    return recovery.chosen(row["options"], said, row["id"], story=row["story_id"] is not None)


def _decided(app: App, asked: OpenQuestion, said: str, person: Actor) -> Done:
    db, project, issue = app.database, asked.project, asked.row
    choice = _chosen(issue, said)
    if issue["story_id"] is not None:
        return about_story(Answering(db, project, issue, choice, person))
    if choice.id == OptionId.GO_ON:
        halts.end_blocked(db, project.row.id, person.name)
        return Done(f"Question {issue['id']} is answered: the builder goes on, the count begins anew.", goes_on())
    if issue["about"] is not None and issue["about"]["about"] == QuestionAbout.RED:
        return breakages.decide(db, project, issue, choice)
    people.close(db, project.row.id, issue, choice.told)
    return Done(f"Question {issue['id']} is answered: {choice.told}.", "damascus inbox")


def _about_write(app: App, asked: OpenQuestion, said: str) -> Done:
    """The agent waits for it, so the story itself is left alone."""
    issue = asked.row
    words = issue["options"]
    position = recovery.position_of(said)
    text = words[position - 1] if 1 <= position <= len(words) else said
    if parsed(text) is None:
        raise UsageError(f"question {issue['id']} is about a write. Answer apply, edit, or reject: and the reason.")
    people.close(app.database, asked.project.row.id, issue, text)
    return Done(f"Question {issue['id']} is answered: {text}. {issue['story_id']} goes on.", "damascus inbox")
