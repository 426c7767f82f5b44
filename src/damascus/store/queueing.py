"""Stories enter the queue: all of a command or none, checked against what is there."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from damascus.domain.errors import UsageError
from damascus.domain.events import EventKind
from damascus.domain.ids import StoryId
from damascus.domain.spec import Spec, digest
from damascus.domain.verdict import Phase
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.journal import write_events
from damascus.store.projects import ProjectRow
from damascus.tasks.ordering import WORK, lateness, ranks

SLACK = (timedelta(0), timedelta(hours=1), timedelta(hours=4), timedelta(hours=24))
"""How long a story of each priority may be overtaken by a more urgent one."""

ENDED = ("blocked", "cancelled")
"""Phases in which a story's spec may be replaced."""


@dataclass(frozen=True)
class NewStory:
    """A parsed spec with its frozen bytes."""

    spec: Spec
    raw: bytes
    path: str
    acceptance: bytes | None = None
    rough: bool = False
    file: str = ""
    """The file as the person named it, for messages; `path` is where it lies."""
    place: int | None = None
    """Its place in its task graph."""

    @property
    def name(self) -> str:
        return self.file or self.path


@dataclass(frozen=True)
class Queued:
    """What became of one story of an `add`."""

    story_id: str
    replaced: bool
    phase: str
    unchanged: bool = False


def add(
    db: Database,
    project: ProjectRow,
    stories: Sequence[NewStory],
    prefix: str,
    budget: int,
    *,
    keep_unchanged: bool = False,
    unbegun: bool = False,
) -> list[Queued]:
    """Queue all stories in one transaction, or none. One that is there with the same spec is left alone; a blocked or
    cancelled one only if `keep_unchanged`. `unbegun`: one that no worker took up yet is changed in place."""
    _refuse_first(_twice(stories))

    def work(c: Connection) -> list[Queued]:
        c.execute("SELECT pg_advisory_xact_lock(hashtextextended('damascus add', %s))", (project.id,))
        existing = _existing(c, project, stories)
        kept = {s.spec.story.lower() for s in stories if _is_unchanged(s, existing, keep_unchanged)}
        new = [story for story in stories if story.spec.story.lower() not in kept]
        _refuse_first(_taken(new, existing, unbegun=unbegun))
        ids: dict[str, int] = {name: row["id"] for name, row in existing.items()}
        queued = [Queued(row["story_id"], False, row["phase"], True) for name, row in existing.items() if name in kept]
        ordered = _in_order(new, existing)
        _put(c, project, ordered, (prefix, budget, existing), ids)
        for story in ordered:
            phase = "spec" if story.rough and story.spec.missing() else "build"
            queued.append(Queued(story.spec.story, story.spec.story.lower() in existing, phase))
        _rank(c, stories, ids)
        return queued

    return db.run(work)


def named(db: Database, project: ProjectRow, stories: Sequence[NewStory]) -> dict[str, Row]:
    """What the queue has of these stories and of those that they depend on."""
    return db.run(lambda c: _existing(c, project, stories))


def problems(stories: Sequence[NewStory], existing: dict[str, Row] | None) -> list[str]:
    """Why these stories could not be queued together; `existing` is None where no queue is there to ask."""
    found = [*_twice(stories), *_unknown(stories, existing)]
    if existing is not None:
        found += _taken([story for story in stories if not _is_unchanged(story, existing, True)], existing)
    if not found:
        try:
            _in_order(stories, existing or {dep.lower(): {} for s in stories for dep in s.spec.depends_on})
        except UsageError as err:
            found.append(str(err))
    return found


def _refuse_first(found: Iterator[str]) -> None:
    if (problem := next(found, None)) is not None:
        raise UsageError(problem)


def _twice(stories: Sequence[NewStory]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for story in stories:
        name = story.spec.story.lower()
        if name in seen:
            yield (
                f"{seen[name]} and {story.name} both describe the story {story.spec.story}. "
                "Give each its own id (they are compared without case). Nothing was queued."
            )
        seen.setdefault(name, story.name)


def _existing(c: Connection, project: ProjectRow, stories: Sequence[NewStory]) -> dict[str, Row]:
    names = {s.spec.story.lower() for s in stories} | {d.lower() for s in stories for d in s.spec.depends_on}
    found = c.execute(sql("stories_by_name"), {"project": project.id, "names": sorted(names)})
    return {row["story_id"].lower(): row for row in found}


def _is_unchanged(story: NewStory, existing: dict[str, Row], keep: bool) -> bool:
    """Is it there, and would adding it change nothing of what was added? An agent may have refined its spec since."""
    row = existing.get(story.spec.story.lower())
    if row is None or (row["phase"] in ENDED and not keep):
        return False
    acceptance = hashlib.sha256(story.acceptance).hexdigest() if story.acceptance is not None else None
    return digest(story.raw) in (row["spec_hash"], row["added_hash"]) and acceptance == row["acceptance_hash"]


def _taken(stories: Sequence[NewStory], existing: dict[str, Row], *, unbegun: bool = False) -> Iterator[str]:
    for story in stories:
        row = existing.get(story.spec.story.lower())
        if row is not None and row["phase"] == Phase.STALE:
            name = row["story_id"]
            yield (
                f"{story.name}: the story {name} is STALE. If this is the spec that is wanted now: damascus change "
                f"{name} --why … --spec {story.name}, then damascus approve {name}. Nothing was queued."
            )
        elif row is not None and row["phase"] not in ENDED and not (unbegun and row["claims"] == 0):
            name = row["story_id"]
            first = f", or cancel it first: damascus cancel {name}"
            if row["phase"] == Phase.DONE:
                first = f", or say that it has changed: damascus change {name} --why … --spec {story.name}"
            yield (
                f"{story.name}: the story {row['story_id']} is in the queue already (phase {row['phase']}), with "
                f"another spec. Use another id{first}. Nothing was queued."
            )


def _unknown(stories: Sequence[NewStory], existing: dict[str, Row] | None) -> Iterator[str]:
    """Dependencies that nobody has; without a queue nothing is known of those that are not in this command."""
    here = {s.spec.story.lower() for s in stories}
    for story in stories:
        for dep in story.spec.depends_on:
            if existing is not None and dep.lower() not in here and dep.lower() not in existing:
                yield (
                    f"{story.name} depends on {dep}, which is neither in the queue nor in this command. "
                    "Add it too or correct depends_on. Nothing was queued."
                )


def _in_order(stories: Sequence[NewStory], existing: dict[str, Row]) -> list[NewStory]:
    """Dependencies first; unknown ones and cycles are refused by name."""
    _refuse_first(_unknown(stories, existing))
    by_name = {s.spec.story.lower(): s for s in stories}
    done: dict[str, NewStory] = {}
    for story in stories:
        _visit(story, by_name, done)
    return list(done.values())


def _visit(first: NewStory, by_name: dict[str, NewStory], done: dict[str, NewStory]) -> None:
    """Depth first, without recursion: a chain may be as long as the graph."""
    way: dict[str, tuple[NewStory, Iterator[StoryId]]] = {}

    def enter(story: NewStory) -> None:
        name = story.spec.story.lower()
        if name in way:
            names = list(way)
            circle = " → ".join(way[each][0].spec.story for each in [*names[names.index(name) :], name])
            raise UsageError(f"the stories depend on each other in a circle: {circle}. Nothing was queued.")
        if name not in done:
            way[name] = story, iter(story.spec.depends_on)

    enter(first)
    while way:
        name, (story, further) = next(reversed(way.items()))
        needed = next((dep for dep in further if dep.lower() in by_name), None)
        if needed is None:
            del way[name]
            done[name] = story
        else:
            enter(by_name[needed.lower()])


def _put(
    c: Connection,
    project: ProjectRow,
    stories: Sequence[NewStory],
    how: tuple[str, int, dict[str, Row]],
    ids: dict[str, int],
) -> None:
    """New rows in one go: their ids are known first. What is new closes no circle: nobody could name it before."""
    prefix, budget, existing = how
    fresh = [story.spec.story.lower() for story in stories if story.spec.story.lower() not in existing]
    ids |= zip(fresh, (row["id"] for row in c.execute(sql("new_item_ids"), {"count": len(fresh)})), strict=True)
    rows = []
    for story in stories:
        deps = [ids[dep.lower()] for dep in story.spec.depends_on]
        params = _columns(project, story, deps) | {"budget": budget, "branch": f"{prefix}{story.spec.story}"}
        body: dict[str, object] = {"story": story.spec.story, "spec": digest(story.raw)}
        known = existing.get(story.spec.story.lower())
        if known is None:
            told = jsonb([[EventKind.STORY_ADDED, body]])
            rows.append(params | {"id": ids[story.spec.story.lower()], "events": told})
            continue
        _replace(c, known, params)
        write_events(c, project.id, known["id"], ((EventKind.STORY_REPLACED, body),))
        _refuse_cycle(c, known["id"], story)
    if rows:
        c.cursor().executemany(sql("add_item"), rows)


def _replace(c: Connection, known: Row, params: dict[str, Any]) -> None:
    """A story that ended gets a new run; who waited behind one that nobody has begun looks again."""
    ended = known["phase"] in ENDED
    if not ended:
        c.execute(sql("free_scope"), {"item": known["id"]})
    found = c.execute(sql("replace_item" if ended else "change_unbegun"), params | {"id": known["id"]}).fetchone()
    if found is None:
        what = "taken up again" if ended else "begun"
        raise UsageError(f"the story {known['story_id']} was {what} at this moment. Nothing was queued.")
    c.execute(sql("close_issues"), {"item": known["id"], "answer": "the spec was replaced"})


def _rank(c: Connection, stories: Sequence[NewStory], ids: dict[str, int]) -> None:
    """In one priority the longest chain begins first (tasks/ordering.py); who has begun keeps its place."""
    needs = {story.spec.story.lower(): [dep.lower() for dep in story.spec.depends_on] for story in stories}
    late = lateness(ranks(needs, {story.spec.story.lower(): WORK[story.spec.complexity] for story in stories}))
    if not any(late.values()):
        return
    slacks = {ids[name]: SLACK[s.spec.priority] + late[name] for s in stories if (name := s.spec.story.lower()) in ids}
    c.execute(sql("rank_items"), {"ids": list(slacks), "slacks": list(slacks.values())})


def _columns(project: ProjectRow, story: NewStory, deps: list[int]) -> dict[str, Any]:
    spec = story.spec
    return {
        "project_id": project.id,
        "project": project.name,
        "repo_id": project.repo_id,
        "story_id": spec.story,
        "title": spec.title,
        "phase": "spec" if story.rough and spec.missing() else "build",
        "priority": spec.priority,
        "slack": SLACK[spec.priority],
        "depends_on": deps,
        "file_scope": list(spec.scope.patterns) if spec.scope else [],
        "spans": spans(project, spec),
        "spec": story.raw,
        "spec_hash": digest(story.raw),
        "spec_path": story.path,
        "acceptance": story.acceptance,
        "rough": story.rough,
        "graph": spec.graph or None,
        "graph_at": story.place,
    }


def spans(project: ProjectRow, spec: Spec) -> list[str]:
    return [s.literal() for s in spec.scope.spans(f"{project.id}/{project.repo_id}")] if spec.scope else []


def _refuse_cycle(c: Connection, item: int, story: NewStory) -> None:
    """A replaced spec may close a circle through stories that were there before."""
    row = c.execute(
        sql("depends_on_itself"),
        {"id": item},
    ).fetchone()
    if row is not None:
        raise UsageError(f"{story.name} closes a circle of dependencies. Correct depends_on. Nothing was queued.")
