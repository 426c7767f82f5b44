"""A done story that is not valid any more (A3): marked by a change or a regression; a person approves or takes it back.

Each act is one transaction under the claim's lock, so that a story is STALE with its question, its event and its files
kept, or is not. No worker can have a stale story: the database lets only phases that are worked be ready or leased.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from damascus.domain import recovery
from damascus.domain.errors import DamascusError, NotThere
from damascus.domain.events import Event, EventKind
from damascus.domain.halt import HaltReason
from damascus.domain.ids import short
from damascus.domain.rederived import rederived
from damascus.domain.spec import digest, parse_spec
from damascus.domain.verdict import Phase
from damascus.store import halts
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.journal import write_events
from damascus.store.projects import ProjectRow
from damascus.store.queueing import SLACK, NewStory, spans
from damascus.store.rebuilds import is_rebuild, take_back

OPTIONS = (recovery.REAPPROVE, recovery.UNDO_CHANGE)
SHOWN = 10
"""Tests that a question names one by one."""


@dataclass(frozen=True)
class Invalidation:
    """What makes a done story invalid. `tests`: the old tests concerned; `new`: the spec that is wanted now."""

    why: str
    by: str
    tests: Sequence[str] = ()
    new: NewStory | None = None
    report: dict[str, Any] | None = None
    """Of a regression: the tests that fail on main, the files and the commit that brought it."""
    halts: bool = False
    """[tasks] on_stale = "halt": everything stops with it."""


@dataclass(frozen=True)
class Marked:
    """The story, and whether it was STALE before."""

    story_id: str
    again: bool


@dataclass(frozen=True)
class Reapproved:
    """The story, the old tests that may change, and what its spec has to be asked for."""

    story_id: str
    tests: tuple[str, ...]
    missing: tuple[str, ...]


def mark_changed(
    db: Database, project: int, stories: Sequence[str], change: Callable[[Row], Invalidation]
) -> list[Marked]:
    """All of them or none; each by its own change, made from its row."""
    return db.run(lambda c: [mark(c, project, story, change) for story in stories])


def mark_stale_by_regression(db: Database, project: int, story: str, change: Invalidation) -> Marked:
    """Tests of it fail on main. `change.report` has tests, files and commit."""

    def work(c: Connection) -> Marked:
        marked = mark(c, project, story, lambda _: change)
        told: dict[str, object] = {"owner": marked.story_id, **(change.report or {})}
        write_events(c, project, _row(c, project, story)["id"], ((EventKind.REGRESSION_FOUND, told),))
        return marked

    return db.run(work)


def mark(c: Connection, project: int, story: str, change: Callable[[Row], Invalidation]) -> Marked:
    """Inside a transaction. Marked a second time it is changed by both: the last spec is what is wanted."""
    row = _row(c, project, story)
    refuse_unfinished(row)
    made = change(row)
    before = row["change"] if row["phase"] == Phase.STALE else None
    kept = _as_json(row, made, before)
    c.execute(sql("mark_stale"), {"id": row["id"], "change": jsonb(kept)})
    c.execute(sql("close_issues"), {"item": row["id"], "answer": "it is STALE"})
    _ask(c, project, row, kept)
    told: dict[str, object] = {"why": made.why, "by": made.by, "regression": made.report is not None}
    told |= {"commit": row["merged_commit"], "tests": list(made.tests)}
    moved: tuple[Event, ...] = () if before else (_moved(row, Phase.STALE),)
    write_events(c, project, row["id"], ((EventKind.STORY_STALE, told), *moved))
    if made.halts:
        reason = f"{row['story_id']} is STALE and needs your word: damascus approve {row['story_id']}"
        params = {"project": project, "halt": HaltReason.STALE, "reason": reason, "item": row["id"]}
        c.execute(sql("halt_project"), params)
    return Marked(row["story_id"], before is not None)


def undo(db: Database, project: int, story: str, by: str) -> str:
    """Back to done: nothing of the change is on main. The story's id."""

    def work(c: Connection) -> str:
        row = _row(c, project, story, and_lease=True)
        if is_rebuild(row):
            take_back(c, project, row, by, halts.resumed(row, by))
            return str(row["story_id"])
        if row["phase"] != Phase.STALE:
            raise DamascusError(_not_stale(row, "there is no change to take back"))
        c.execute(sql("free_scope"), {"item": row["id"]})
        c.execute(sql("undo_stale"), {"id": row["id"]})
        c.execute(sql("close_issues"), {"item": row["id"], "answer": f"{recovery.UNDO_CHANGE} ({by})"})
        c.execute(sql("wake_dependents"), {"item": row["id"]})
        told: Event = (EventKind.STORY_CHANGE_UNDONE, {"by": by})
        write_events(c, project, row["id"], (told, _moved(row, Phase.DONE)))
        end_halt_if_none_is_stale(c, project, by)
        return str(row["story_id"])

    return db.run(work)


def approve(db: Database, project: ProjectRow, story: str, by: str, *, refined: bool = True) -> Reapproved:
    """A person's word: it is built anew from its spec on, and the old tests that it was shown may change. `refined`:
    the project has a refiner, which derives scope, plan and command anew."""

    def work(c: Connection) -> Reapproved:
        row = _row(c, project.id, story)
        if row["phase"] != Phase.STALE:
            raise DamascusError(_not_stale(row, "it does not wait for your word"))
        new = _wanted(row, refined)
        missing = tuple(new.spec.missing())
        c.execute(sql("free_scope"), {"item": row["id"]})
        c.execute(sql("reapprove"), _columns(c, project, row, new) | {"change": jsonb(_approved(row, by))})
        c.execute(sql("close_issues"), {"item": row["id"], "answer": f"{recovery.REAPPROVE} ({by})"})
        tests = tuple(row["change"]["tests"])
        told: Event = (EventKind.STORY_REAPPROVED, {"by": by, "tests": list(tests)})
        write_events(c, project.id, row["id"], (told, _moved(row, Phase.SPEC)))
        end_halt_if_none_is_stale(c, project.id, by)
        return Reapproved(row["story_id"], tests, missing)

    return db.run(work)


def end_halt_if_none_is_stale(c: Connection, project: int, by: str) -> None:
    """Whoever takes the last stale story away ends what it halted."""
    left = c.execute(sql("stale_left"), {"project": project}).fetchone()
    if left is not None and not left["n"]:
        c.execute(sql("end_halt"), {"project": project, "halt": HaltReason.STALE, "by": by})


# ── the row ───────────────────────────────────────────────────────────────────────────────────────────


def _row(c: Connection, project: int, story: str, *, and_lease: bool = False) -> Row:
    """Locked, behind the claim's lock, which comes before every row's, and its lease's."""
    c.execute(sql("graph_lock"), {"project": project})
    if and_lease:
        c.execute(sql("lock_story"), {"project": project, "story": story})
    row = c.execute(sql("story_for_update"), {"project": project, "story": story}).fetchone()
    if row is None:
        raise NotThere(f"there is no story {story!r} in this project. See them all: damascus status --all")
    return row


def refuse_unfinished(row: Row) -> None:
    name, phase = row["story_id"], row["phase"]
    if phase in (Phase.DONE, Phase.STALE):
        return
    graph, begun = row["graph"], row["claims"] > 0 or not row["graph"]
    first = f"damascus cancel {name}, then " if begun and phase not in (Phase.BLOCKED, Phase.CANCELLED) else ""
    again = f"damascus tasks add {graph}" if graph else f"damascus add {row['spec_path']}"
    raise DamascusError(
        f"{name} is not DONE (phase {phase}), so nothing of it is on main that a change could invalidate. Correct its "
        f"spec instead: {first}{again}. Nothing was changed."
    )


def refuse_stale(row: Row) -> None:
    """Only `approve` lets a stale story be built anew."""
    if row["phase"] == Phase.STALE:
        raise DamascusError(f"{row['story_id']} is STALE: {decide(row['story_id'])}. Nothing was changed.")


def decide(story: str) -> str:
    return (
        f"let it be built anew with damascus approve {story}, or take the change back: damascus change --undo {story}"
    )


def _not_stale(row: Row, what: str) -> str:
    name = row["story_id"]
    return f"{name} is not STALE (phase {row['phase']}): {what}. Nothing was changed. See: damascus why {name}"


def _as_json(row: Row, change: Invalidation, before: dict[str, Any] | None) -> dict[str, Any]:
    """As it stands in the row: the change, and what the story was before it."""
    told: dict[str, Any] = {
        "why": f"{before['why']}\n{change.why}" if before else change.why,
        "by": change.by,
        "at": datetime.now(UTC).isoformat(),
        "regression": change.report is not None,
        "report": change.report,
        "commit": row["merged_commit"],
        "pull": row["pr_url"],
        "spec_hash": row["spec_hash"],
        "tests": list(dict.fromkeys((*(before or {}).get("tests", ()), *change.tests))),
        "new_spec": (before or {}).get("new_spec"),
    }
    if change.new is not None:
        held = change.new.acceptance
        told["new_spec"] = {
            "text": change.new.raw.decode(errors="replace"),
            "hash": digest(change.new.raw),
            "path": change.new.path,
            "acceptance": b64encode(held).decode() if held is not None else None,
        }
    return told


def _approved(row: Row, by: str) -> dict[str, Any]:
    return {**row["change"], "approved_by": by, "approved_at": datetime.now(UTC).isoformat()}


def _wanted(row: Row, refined: bool) -> NewStory:
    """The spec that it is built by from now on, the old tests named in it."""
    change, new = row["change"], row["change"]["new_spec"]
    raw = new["text"].encode() if new else bytes(row["spec"])
    held = new["acceptance"] if new else None
    acceptance = b64decode(held) if held else (None if new else row["acceptance"])
    raw = rederived(raw, change["why"], change["tests"], new=new is not None, refined=refined)
    spec = parse_spec(raw, f"the spec of {row['story_id']}", rough=True)
    path = new["path"] if new else row["spec_path"]
    return NewStory(spec, raw, path, acceptance, bool(spec.missing()))


def _columns(c: Connection, project: ProjectRow, row: Row, new: NewStory) -> dict[str, Any]:
    spec = new.spec
    return {
        "id": row["id"],
        "title": spec.title,
        "priority": spec.priority,
        "slack": SLACK[spec.priority],
        "depends_on": _depends_on(c, project, row, new),
        "file_scope": list(spec.scope.patterns) if spec.scope else [],
        "spans": spans(project, spec),
        "spec": new.raw,
        "spec_hash": digest(new.raw),
        "spec_path": new.path,
        "acceptance": new.acceptance,
        "rough": new.rough,
    }


def _depends_on(c: Connection, project: ProjectRow, row: Row, new: NewStory) -> list[int]:
    names = sorted({dep.lower() for dep in new.spec.depends_on})
    found = c.execute(sql("stories_by_name"), {"project": project.id, "names": names}).fetchall()
    known = {one["story_id"].lower(): one["id"] for one in found}
    for dep in new.spec.depends_on:
        if dep.lower() not in known:
            raise DamascusError(
                f"the new spec of {row['story_id']} depends on {dep}, which is not in the queue. Add it first, or "
                f"change the spec: damascus change {row['story_id']} --why … --spec FILE. Nothing was changed."
            )
    below = {one["id"] for one in c.execute(sql("dependents"), {"ids": [row["id"]]}).fetchall()} | {row["id"]}
    if circle := sorted(name for name in names if known[name] in below):
        raise DamascusError(
            f"the new spec of {row['story_id']} closes a circle of dependencies: {', '.join(circle)} waits for it. "
            "Correct depends_on. Nothing was changed."
        )
    return [known[name] for name in names]


# ── the question ──────────────────────────────────────────────────────────────────────────────────────


def _ask(c: Connection, project: int, row: Row, change: dict[str, Any]) -> None:
    question = question_of(str(row["story_id"]), change)
    params = {"project": project, "item": row["id"], "question": question, "options": list(OPTIONS), "owner": "you"}
    c.execute(sql("open_issue"), params)
    write_events(c, project, row["id"], ((EventKind.ISSUE_OPENED, {"question": question}),))


def question_of(story: str, change: dict[str, Any]) -> str:
    """One line: what, where the original is, and what an approval lets happen."""
    what = "its tests fail on main" if change["regression"] else "its spec has changed"
    why, commit = " ".join(change["why"].split()).rstrip(". "), short(change["commit"])
    told = f"{story} is STALE, {what}: {why}. It is on main as {commit} (damascus diff {story}). "
    asked = "Shall it be built anew from its spec? It never is without your word."
    tests = change["tests"]
    if not tests:
        return told + asked
    more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
    return f"{told}{asked} Old tests that may change then: {', '.join(tests[:SHOWN])}{more}."


def _moved(row: Row, to: Phase) -> Event:
    return (EventKind.PHASE_TRANSITIONED, {"from": row["phase"], "to": to.value, "why": "a change"})
