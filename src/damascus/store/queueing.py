"""Stories enter the queue: all of a command or none, checked against what is there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from damascus.domain.errors import UsageError
from damascus.domain.spec import Spec, digest
from damascus.store.db import Connection, Database, Row, sql
from damascus.store.journal import write_events
from damascus.store.projects import ProjectRow

SLACK = (timedelta(0), timedelta(hours=1), timedelta(hours=4), timedelta(hours=24))
"""How long a story of each priority may be overtaken by a more urgent one."""


@dataclass(frozen=True)
class NewStory:
    """A parsed spec with its frozen bytes."""

    spec: Spec
    raw: bytes
    path: str
    acceptance: bytes | None = None
    rough: bool = False


@dataclass(frozen=True)
class Queued:
    """What became of one story of an `add`."""

    story_id: str
    replaced: bool
    phase: str


def add(db: Database, project: ProjectRow, stories: Sequence[NewStory], prefix: str, budget: int) -> list[Queued]:
    """Queue all stories in one transaction, or none."""
    _refuse_twice(stories)

    def work(c: Connection) -> list[Queued]:
        c.execute("SELECT pg_advisory_xact_lock(hashtextextended('damascus add', %s))", (project.id,))
        existing = _existing(c, project, stories)
        _refuse_existing(stories, existing)
        ids: dict[str, int] = {name: row["id"] for name, row in existing.items()}
        queued = []
        for story in _in_order(stories, existing):
            deps = [ids[dep.lower()] for dep in story.spec.depends_on]
            row = existing.get(story.spec.story.lower())
            ids[story.spec.story.lower()] = _write(c, project, story, deps, (prefix, budget, row))
            phase = "spec" if story.rough and story.spec.missing() else "build"
            queued.append(Queued(story.spec.story, row is not None, phase))
        return queued

    return db.run(work)


def _refuse_twice(stories: Sequence[NewStory]) -> None:
    seen: dict[str, str] = {}
    for story in stories:
        name = story.spec.story.lower()
        if name in seen:
            raise UsageError(
                f"{seen[name]} and {story.path} both describe the story {story.spec.story}. "
                "Give each its own id (they are compared without case). Nothing was queued."
            )
        seen[name] = story.path


def _existing(c: Connection, project: ProjectRow, stories: Sequence[NewStory]) -> dict[str, Row]:
    names = {s.spec.story.lower() for s in stories} | {d.lower() for s in stories for d in s.spec.depends_on}
    found = c.execute(sql("stories_by_name"), {"project": project.id, "names": sorted(names)})
    return {row["story_id"].lower(): row for row in found}


def _refuse_existing(stories: Sequence[NewStory], existing: dict[str, Row]) -> None:
    for story in stories:
        row = existing.get(story.spec.story.lower())
        if row is not None and row["phase"] not in ("blocked", "cancelled"):
            first = "" if row["phase"] == "done" else f", or cancel it first: damascus cancel {row['story_id']}"
            raise UsageError(
                f"the story {row['story_id']} is in the queue already (phase {row['phase']}). "
                f"Use another id{first}. Nothing was queued."
            )


def _in_order(stories: Sequence[NewStory], existing: dict[str, Row]) -> list[NewStory]:
    """Dependencies first; unknown ones and cycles are refused by name."""
    by_name = {s.spec.story.lower(): s for s in stories}
    done: list[NewStory] = []
    state: dict[str, str] = {}

    def visit(story: NewStory, path: tuple[str, ...]) -> None:
        name = story.spec.story.lower()
        if state.get(name) == "done":
            return
        if state.get(name) == "open":
            cycle = " → ".join((*path[path.index(story.spec.story) :], story.spec.story))
            raise UsageError(f"the stories depend on each other in a circle: {cycle}. Nothing was queued.")
        state[name] = "open"
        for dep in story.spec.depends_on:
            if dep.lower() in by_name:
                visit(by_name[dep.lower()], (*path, story.spec.story))
            elif dep.lower() not in existing:
                raise UsageError(
                    f"{story.path} depends on {dep}, which is neither in the queue nor in this command. "
                    "Add it too or correct depends_on. Nothing was queued."
                )
        state[name] = "done"
        done.append(story)

    for story in stories:
        visit(story, ())
    return done


def _write(
    c: Connection, project: ProjectRow, story: NewStory, deps: list[int], how: tuple[str, int, Row | None]
) -> int:
    prefix, budget, replaced = how
    params = _columns(project, story, deps) | {"budget": budget, "branch": f"{prefix}{story.spec.story}"}
    if replaced is None:
        row = c.execute(sql("add_item"), params).fetchone()
    else:
        row = c.execute(sql("replace_item"), params | {"id": replaced["id"]}).fetchone()
        if row is None:
            raise UsageError(f"the story {replaced['story_id']} was taken up again at this moment. Nothing was queued.")
        c.execute(sql("close_issues"), {"item": replaced["id"], "answer": "the spec was replaced"})
    assert row is not None
    kind = "story.added" if replaced is None else "story.replaced"
    body: dict[str, object] = {"story": story.spec.story, "spec": digest(story.raw)}
    write_events(c, project.id, row["id"], ((kind, body),))
    _refuse_cycle(c, row["id"], story)
    return int(row["id"])


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
        raise UsageError(f"{story.path} closes a circle of dependencies. Correct depends_on. Nothing was queued.")
