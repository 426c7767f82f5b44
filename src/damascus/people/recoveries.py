"""Answers about a story, each a thing that happens (D15, W8, X5): what is done, in words, and what to do next."""

from collections.abc import Callable
from dataclasses import dataclass

from damascus.app import Project
from damascus.domain import money, recovery
from damascus.domain.errors import UsageError
from damascus.domain.question_marks import MUTANTS, chosen_marks, marks_of
from damascus.domain.recovery import Chosen, OptionId
from damascus.people import changes_of_tasks, stories
from damascus.people.acts import Actor, Done, goes_on
from damascus.store import halts, people, views
from damascus.store.db import Database, Row
from damascus.store.stale import decide
from damascus.telling import asked


@dataclass(frozen=True)
class Answering:
    """A question about a story, in the story's repository, what was chosen, and who chose."""

    db: Database
    project: Project
    issue: Row
    choice: Chosen
    person: Actor

    @property
    def story(self) -> str:
        return str(self.issue["story_id"])

    @property
    def of(self) -> int:
        """The number of the project."""
        return self.project.row.id

    def close(self, answer: str = "") -> None:
        """With the choice as it is recorded, unless other words say it better."""
        people.close(self.db, self.of, self.issue, answer or self.choice.told)


Doing = Callable[[Answering], Done]


def about_story(a: Answering) -> Done:
    """By the option's id alone. Own words, and options that an agent's own question brought, go to the next agent."""
    options = a.issue["options"]
    if not a.choice.id and recovery.REAPPROVE in options:
        raise UsageError(f"{a.story} is STALE: {decide(a.story)}. Nothing was changed.")
    if not a.choice.id and (recovery.APPROVE in options or recovery.ACCEPT in options):
        return _send_back(a)  # no agent would hear them where it only waits for a word
    if recovery.IT_IS_SET in options and not a.choice.id:
        return _it_is_set(a)  # it waits: there is no agent to tell
    otherwise = _land_now if recovery.LAND_NOW in options else _words  # it waits: there is no agent to tell
    return DOES.get(a.choice.id, otherwise)(a)


def _words(a: Answering) -> Done:
    return _retried(a, a.choice.told)


def _retry(a: Answering) -> Done:
    return _retried(a, a.choice.words or None)


def _retried(a: Answering, told: str | None) -> Done:
    acted = people.retry(a.db, a.of, a.story, told)
    a.close()
    return Done(f"{a.story} goes on in phase {acted.phase} with a new budget: {a.choice.told}", goes_on(a.story))


def _cancel(a: Answering) -> Done:
    people.cancel(a.db, a.of, a.story)
    a.close()
    said = f"{a.story} is cancelled. What an agent wrote is kept: damascus rescue list {a.story}"
    return Done(said, "damascus inbox")


def _edit_spec(a: Answering) -> Done:
    people.decided(a.db, a.of, a.issue, a.choice.told)
    said = f"{a.story} stays blocked, question {a.issue['id']} open, until you add its corrected spec."
    return Done(said, asked.adding(views.whole_row(a.db, a.project.row, a.story)))


def _use_spec(a: Answering) -> Done:
    people.use_spec(a.db, a.of, a.story)
    a.close()
    return Done(f"{a.story} goes on with the spec exactly as the question showed it.", goes_on(a.story))


def _where_it_was(a: Answering) -> Done:
    acted = people.look_again(a.db, a.of, a.story, a.choice.option)
    a.close()
    looks = "; no agent is sent, CI is looked at again" if a.choice.id == OptionId.LOOK_AGAIN else f": {a.choice.told}"
    return Done(f"{a.story} goes on in phase {acted.phase} where it was{looks}.", goes_on(a.story))


def _equivalent(a: Answering) -> Done:
    recovery.needed(a.choice, a.issue["id"])
    acted = people.look_again(a.db, a.of, a.story, a.choice.told)
    return Done(f"{a.story} goes on in phase {acted.phase} where it was: {a.choice.told}.", goes_on(a.story))


def _accept_pictures(a: Answering) -> Done:
    acted = people.accept_pictures(a.db, a.of, a.issue, a.person.name)
    said = f"{a.story} goes on in phase {acted.phase} where it was: its pictures are accepted by {a.person.name}."
    return Done(said, goes_on(a.story))


def _some_equivalent(a: Answering) -> Done:
    """The rest needs tests, so an agent is sent; where none is left, the run goes on where it is."""
    shown = marks_of(a.issue["question"], MUTANTS)
    marks, _ = chosen_marks(shown, recovery.needed(a.choice, a.issue["id"]))
    if not marks:
        raise UsageError(
            f"say which of the mutants, 1 to {len(shown)}, and why. "
            f"Write it like: damascus answer {a.issue['id']} {recovery.SOME_EXAMPLE}"
        )
    return _equivalent(a) if set(marks) == set(shown) else _retried(a, a.choice.told)


def _close(a: Answering) -> Done:
    a.close()
    return Done(f"Question {a.issue['id']} is answered: {a.choice.told}.", "damascus inbox")


def _allowed(a: Answering) -> Done:
    return _new_run(a, a.choice.words or None)


def _respawn(a: Answering) -> Done:
    return _new_run(a, recovery.needed(a.choice, a.issue["id"]))


def _new_run(a: Answering, words: str | None) -> Done:
    a.close(words or a.choice.option)
    acted = people.retry(a.db, a.of, a.story, words)
    told = f"its agent is told: {words}" if words else a.choice.option
    return Done(f"{a.story} goes on in phase {acted.phase}: {told}", goes_on(a.story))


def _land_now(a: Answering) -> Done:
    people.land_now(a.db, a.of, a.issue, a.choice.told)
    said = f"{a.story} is landed as soon as nothing is in its way; if something is, you are asked again."
    return Done(said, goes_on(a.story))


def _hand_over(a: Answering) -> Done:
    story, who = a.story, a.choice.words or "a person"
    people.hand_over(a.db, a.of, a.issue, who)
    said = (
        f"{story} is left to {who}: blocked, question {a.issue['id']} open, no agent touches it.\n"
        f"What was written lies in {a.project.worktrees / story} (damascus rescue list {story})."
    )
    return Done(said, f"damascus retry {story} gives it back to an agent, damascus cancel {story} ends it")


def _raise(a: Answering) -> Done:
    option = a.choice.option
    _, unit = recovery.RAISES[option]
    amount = money.amount_of(recovery.needed(a.choice, a.issue["id"]), unit)
    a.close(f"{option}: {money.said(amount, unit)}")
    going = people.raise_budget(a.db, a.of, a.issue, option, amount)
    names = ", ".join(acted.story_id for acted in going)
    said = f"The budget is {money.said(amount, unit)} now. {names} {'goes' if len(going) == 1 else 'go'} on."
    return Done(said, goes_on(a.story))


def _approve(a: Answering) -> Done:
    return stories.approve(a.db, a.project, a.story, a.person, a.choice.words)


def _send_back(a: Answering) -> Done:
    if recovery.APPROVE not in a.issue["options"]:
        return _respawn(a)
    return stories.send_back(a.db, a.project, a.story, a.person, recovery.needed(a.choice, a.issue["id"]))


def _it_is_set(a: Answering) -> Done:
    a.close()
    halts.wake_secrets(a.db, a.of)
    return Done(f"{a.story} is begun by a worker that has it; if none has, you are asked again.", goes_on(a.story))


def _reapprove(a: Answering) -> Done:
    return changes_of_tasks.approve_stale(a.db, a.project, a.story, a.person)


def _undo_change(a: Answering) -> Done:
    return changes_of_tasks.undo(a.db, a.project, [a.story], a.person)


DOES: dict[OptionId, Doing] = {
    OptionId.APPROVE: _approve,
    OptionId.ACCEPT: _approve,
    OptionId.SEND_BACK: _send_back,
    OptionId.IT_IS_SET: _it_is_set,
    OptionId.REAPPROVE: _reapprove,
    OptionId.UNDO_CHANGE: _undo_change,
    OptionId.RETRY: _retry,
    OptionId.CANCEL: _cancel,
    OptionId.EDIT_SPEC: _edit_spec,
    OptionId.USE_SPEC: _use_spec,
    OptionId.LOOK_AGAIN: _where_it_was,
    OptionId.ACCEPT_TESTS: _where_it_was,
    OptionId.KEEP_TESTS: _where_it_was,
    OptionId.ACCEPT_PICTURES: _accept_pictures,
    OptionId.WITHOUT_PATTERNS: _where_it_was,
    OptionId.ALL_EQUIVALENT: _equivalent,
    OptionId.SOME_EQUIVALENT: _some_equivalent,
    OptionId.LAND_NOW: _land_now,
    OptionId.MEANT_SO: _close,
    OptionId.FIX_PERMISSION: _allowed,
    OptionId.RESPAWN: _respawn,
    OptionId.HAND_OVER: _hand_over,
    OptionId.RAISE_BUDGET: _raise,
}
"""What each option of a story's question does."""
