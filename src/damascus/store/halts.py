"""What halts the builder (A2), in the database: attempts in a row that ended blocked, missing secrets, what is told."""

from damascus.domain import recovery
from damascus.domain.events import Event, EventKind
from damascus.domain.halt import HaltReason
from damascus.domain.recovery import QuestionAbout
from damascus.domain.verdict import Phase
from damascus.store import graph
from damascus.store.db import Connection, Database, Row, sql
from damascus.store.graph import RepoQuestion
from damascus.store.journal import write_events


def halt_if_blocked(db: Database, project: int, limit: int) -> bool:
    """Everything stops once so many attempts in a row ended blocked, with no landing between; asked once."""
    found = db.all("last_ends", project=project, limit=limit)
    if len(found) < limit or not all(row["blocked"] for row in found):
        return False

    def work(c: Connection) -> bool:
        c.execute(sql("graph_lock"), {"project": project})
        rows = c.execute(sql("last_ends"), {"project": project, "limit": limit}).fetchall()
        if len(rows) < limit or not all(row["blocked"] for row in rows):
            return False
        names = ", ".join(dict.fromkeys(row["story_id"] for row in reversed(rows) if row["story_id"]))
        reason = f"{limit} attempts in a row ended blocked, the last of {names}"
        params = {"project": project, "halt": HaltReason.BLOCKED, "reason": reason, "item": None}
        news = c.execute(sql("halt_project"), params).fetchone()
        if news is None or not news["news"]:
            return False
        about = {"repo": None, "about": QuestionAbout.BLOCKED}
        text = f"Nothing new is begun: {reason}. Look at their questions first. Shall the builder go on?"
        graph.ask(c, project, RepoQuestion(text, (recovery.GO_ON,), about))
        return True

    return db.run(work)


def end_blocked(db: Database, project: int, by: str) -> bool:
    """A person lets it go on: the count begins anew."""
    row = db.one("end_halt", project=project, halt=HaltReason.BLOCKED, by=by)
    return bool(row and row["news"])


def ask_for_secrets(db: Database, project: int, names: list[str], host: str) -> None:
    """Once for the project, as long as it is open."""
    told = ", ".join(names)

    def work(c: Connection) -> None:
        about = {"repo": None, "about": QuestionAbout.SECRET, "names": names, "host": host}
        text = (
            f"Nothing is begun on {host}: {told} of [secrets] required is not set there. Set it in the environment of "
            "the worker and start it again; it goes on by itself."
        )
        if graph.ask(c, project, RepoQuestion(text, (recovery.IT_IS_SET,), about)) is not None:
            halted: Event = (EventKind.BUILDER_HALTED, {"reason": HaltReason.SECRET.value, "message": text})
            write_events(c, project, None, (halted,))

    db.run(work)


def secrets_are_set(db: Database, project: int, host: str) -> None:
    """A worker of this host has them all: what was asked about this host is over."""

    def work(c: Connection) -> None:
        for row in c.execute(sql("close_secret_question"), {"project": project, "host": host}).fetchall():
            told: dict[str, object] = {"issue": row["id"], "answer": "it is set"}
            resumed: Event = (EventKind.BUILDER_RESUMED, {"reason": HaltReason.SECRET.value, "by": host})
            write_events(c, project, None, ((EventKind.ISSUE_ANSWERED, told), resumed))

    db.run(work)


def wake_secrets(db: Database, project: int) -> None:
    """A new worker may have what tasks wait for."""
    db.do("wake_secrets", project=project)


def resumed(row: Row, by: str) -> tuple[Event, ...]:
    """A person lets a task go on that halted by itself."""
    reason = (row["last_feedback"] or {}).get("halt") if row["phase"] == Phase.BLOCKED else None
    return ((EventKind.BUILDER_RESUMED, {"reason": reason, "by": by}),) if reason else ()
