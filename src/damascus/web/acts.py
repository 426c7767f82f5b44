"""What can be done in the window: each a verb of the command line, done by the same function of people/."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Thread

from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.recovery import OptionId, chosen
from damascus.people import answering, changes_of_tasks, holds, shipping, stories
from damascus.people.acts import Actor, Done
from damascus.people.changes_of_tasks import SaidOfChange
from damascus.people.meant import refuse_moved
from damascus.people.places import repository_of
from damascus.web.looking import Look

Fields = Mapping[str, str]


@dataclass(frozen=True)
class AskedFirst:
    """What is said before something that can't be taken back."""

    question: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Act:
    """`asks` says what a person has to confirm first; None: nothing."""

    do: Callable[[Look, Fields], Done]
    asks: Callable[[Look, Fields], AskedFirst | None] = lambda look, fields: None


def _who(look: Look) -> Actor:
    assert look.who is not None, "the guard lets nobody act whom it does not know"
    return look.who


def _story(look: Look, fields: Fields) -> str:
    """As the page had it."""
    story = fields.get("story", "")
    refuse_moved(look.app, look.project, story, fields.get("expects", ""))
    return story


# ── questions ─────────────────────────────────────────────────────────────────────────────────────────


def _question(look: Look, fields: Fields) -> answering.OpenQuestion:
    number = fields.get("question", "")
    if not number.isdecimal() or len(number) > 18:
        raise UsageError("which question? Choose it in the inbox.")
    return answering.question(look.app, look.project, int(number))


def _said(fields: Fields) -> str:
    return f"{fields.get('choice', '')} {fields.get('words', '')}".strip()


def _answer(look: Look, fields: Fields) -> Done:
    return answering.answer(look.app, _question(look, fields), _said(fields), _who(look))


def _asks_end(look: Look, fields: Fields) -> AskedFirst | None:
    row = _question(look, fields).row
    choice = chosen(row["options"], _said(fields), row["id"], story=row["story_id"] is not None)
    if choice.id is not OptionId.CANCEL:
        return None
    return AskedFirst(f"Shall {row['story_id']} be cancelled?", ("It ends; what an agent wrote is kept.",))


# ── stories ───────────────────────────────────────────────────────────────────────────────────────────


def _retry(look: Look, fields: Fields) -> Done:
    return stories.retry(look.app.database, look.project, _story(look, fields), fields.get("words", ""))


def _cancel(look: Look, fields: Fields) -> Done:
    return stories.cancel(look.app.database, look.project, _story(look, fields))


def _asks_cancel(look: Look, fields: Fields) -> AskedFirst:
    return AskedFirst(f"Shall {_story(look, fields)} be cancelled?", ("It ends; what an agent wrote is kept.",))


def _approve(look: Look, fields: Fields) -> Done:
    db, story = look.app.database, _story(look, fields)
    place = repository_of(look.app, look.project, story)
    if changes_of_tasks.concerned(db, place, story) is None:
        return stories.approve(db, place, story, _who(look), fields.get("words", ""))
    return changes_of_tasks.approve_stale(db, place, story, _who(look))


def _asks_approve(look: Look, fields: Fields) -> AskedFirst | None:
    story = _story(look, fields)
    tests = changes_of_tasks.concerned(look.app.database, look.project, story)
    if tests is None:
        return None
    lines = tuple(f"may change: {test}" for test in tests) or ("No old test is concerned.",)
    return AskedFirst(f"Shall {story} be built anew from its spec?", lines)


def _send_back(look: Look, fields: Fields) -> Done:
    story = _story(look, fields)
    place = repository_of(look.app, look.project, story)
    return stories.send_back(look.app.database, place, story, _who(look), fields.get("words", ""))


def _change(look: Look, fields: Fields) -> Done:
    radius = changes_of_tasks.blast_radius(look.app, look.project, [_story(look, fields)])
    said = SaidOfChange(fields.get("words", ""), _who(look), None, fields.get("with_dependents") == "yes")
    return changes_of_tasks.change(look.app, look.project, radius, said)


def _asks_change(look: Look, fields: Fields) -> AskedFirst:
    story = _story(look, fields)
    radius = changes_of_tasks.blast_radius(look.app, look.project, [story])
    return AskedFirst(f"Shall {story} become STALE?", tuple(changes_of_tasks.told(radius)))


def _undo_change(look: Look, fields: Fields) -> Done:
    return changes_of_tasks.undo(look.app.database, look.project, [_story(look, fields)], _who(look))


# ── the project ───────────────────────────────────────────────────────────────────────────────────────


def _hold(look: Look, fields: Fields) -> Done:
    return holds.hold(look.app.database, look.project, fields.get("words", ""), fields.get("repo") or None)


def _release(look: Look, fields: Fields) -> Done:
    return holds.release(look.app.database, look.project, fields.get("repo") or None)


def _ship(look: Look, fields: Fields) -> Done:
    """Verifying takes minutes, and goes on when the browser is gone; the declared word stands in the database."""
    who, note = _who(look).name, fields.get("words", "")

    def verify() -> None:
        try:
            shipping.ship(look.app, look.project, who, note, lambda line: None)
        except DamascusError:
            return  # shown by whoever asks: what was declared, and how far it is

    Thread(target=verify, name="ship", daemon=True).start()
    return Done(f"SHIP is declared by {who}, and main is being verified.", "damascus ship --show")


def _asks_ship(look: Look, fields: Fields) -> AskedFirst:
    lines = ("Nothing new is begun, what runs is stopped with its work saved, and main is verified.",
             f"It is declared by {_who(look).name}. Work goes on once somebody says: {shipping.UNDO}")  # fmt: skip
    return AskedFirst("Shall SHIP be declared?", lines)


def _undo_ship(look: Look, fields: Fields) -> Done:
    return shipping.undo(look.app, look.project, _who(look))


ACTS: Mapping[str, Act] = {
    "answer": Act(_answer, _asks_end),
    "retry": Act(_retry),
    "cancel": Act(_cancel, _asks_cancel),
    "approve": Act(_approve, _asks_approve),
    "send-back": Act(_send_back),
    "change": Act(_change, _asks_change),
    "undo-change": Act(_undo_change),
    "hold": Act(_hold),
    "release": Act(_release),
    "ship": Act(_ship, _asks_ship),
    "undo-ship": Act(_undo_ship),
}
