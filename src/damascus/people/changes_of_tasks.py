"""A change invalidates what is done (A3): what it would touch, the story made STALE, and a person's word about it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from damascus.app import App, Project
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import Sha, short
from damascus.domain.verdict import ACTIVE, Phase
from damascus.domain.visible import visible
from damascus.engine.tests_concerned import tests_concerned
from damascus.people.acts import Actor, Done, goes_on
from damascus.people.places import repository_of
from damascus.people.spec_files import NOTHING, Ground, story_of
from damascus.store import stale, views
from damascus.store.db import Database, Row
from damascus.store.queueing import NewStory
from damascus.store.stale import Invalidation
from damascus.telling.phrases import listed, plural

LONGEST_WHY = 4000
EXAMPLE = 'damascus change TASK-003 --why "prices are in cents now"'
NAMED = 10


@dataclass(frozen=True)
class Dependent:
    """A story that depends on what changes, itself or through others."""

    story: str
    phase: str
    direct: bool
    in_flight: bool


@dataclass(frozen=True)
class BlastRadius:
    """What a change of these stories touches. `commits`: what is on main of each."""

    stories: tuple[str, ...]
    commits: dict[str, str]
    dependents: tuple[Dependent, ...]
    files: tuple[str, ...]
    tests: tuple[str, ...]
    sharers: tuple[str, ...]

    @property
    def done(self) -> tuple[str, ...]:
        """The tasks that are DONE and stand on it."""
        return tuple(one.story for one in self.dependents if one.phase == Phase.DONE)

    def published(self) -> dict[str, Any]:
        return asdict(self) | {"done_dependents": list(self.done)}


@dataclass(frozen=True)
class SaidOfChange:
    """What a person says of a change: why, the file of the spec that is wanted now, and how far it goes."""

    why: str
    person: Actor
    spec: str | None = None
    with_dependents: bool = False


@dataclass(frozen=True)
class MadeStale(Done):
    """The stories that are STALE now, and what the change touches."""

    stories: tuple[str, ...]
    radius: BlastRadius


@dataclass(frozen=True)
class Undone(Done):
    """The stories that are done again."""

    stories: tuple[str, ...]


@dataclass(frozen=True)
class ApprovedAnew(Done):
    """The story that is built anew, the old tests that may change, and what the refiner has to derive."""

    story: str
    tests: tuple[str, ...]
    derived: tuple[str, ...]
    by: str


# ── the blast radius ──────────────────────────────────────────────────────────────────────────────────


def blast_radius(app: App, project: Project, stories: Sequence[str]) -> BlastRadius:
    """Looked up, nothing is changed. Refuses what is not done."""
    db, rows = app.database, [_done_row(app.database, project, name) for name in dict.fromkeys(stories)]
    ids = [row["id"] for row in rows]
    dependents = tuple(_dependent(row) for row in db.all("dependents", ids=ids))
    tests = [test for row in rows for test in _tests(app, project, row)]
    changed = [path for row in rows for path in _files(app, project, row)]
    owned = [row["path"] for row in db.all("owned_files", ids=ids)]
    below = {one.story for one in dependents}
    sharers = [row["story_id"] for row in db.all("sharers", ids=ids) if row["story_id"] not in below]
    return BlastRadius(
        tuple(row["story_id"] for row in rows),
        {row["story_id"]: row["merged_commit"] for row in rows},
        dependents,
        tuple(sorted({*changed, *owned})),
        tuple(dict.fromkeys(tests)),
        tuple(sharers),
    )


def told(radius: BlastRadius) -> list[str]:
    """The blast radius in lines."""
    names = [f"{one.story} ({_how(one)})" for one in radius.dependents]
    lines = [f"{story} is on main as {short(commit)}" for story, commit in radius.commits.items()]
    lines.append(f"depends on it: {listed(names, NAMED) if names else 'nothing'}")
    lines.append(f"files: {listed(list(radius.files), NAMED) if radius.files else 'none'}")
    lines.append(f"tests: {listed(list(radius.tests), NAMED) if radius.tests else 'none'}")
    if radius.sharers:
        lines.append(f"shares its files and waits, if it has not begun: {listed(list(radius.sharers), NAMED)}")
    return lines


def _how(one: Dependent) -> str:
    state = "DONE" if one.phase == Phase.DONE else "in flight" if one.in_flight else one.phase
    return state if one.direct else f"{state}, through another"


def _dependent(row: Row) -> Dependent:
    in_flight = row["phase"] in tuple(ACTIVE) and row["claims"] > 0
    return Dependent(row["story_id"], row["phase"], bool(row["direct"]), in_flight)


def _done_row(db: Database, project: Project, story: str) -> Row:
    views.story_row(db, project.row, story)  # refuses one that nobody knows
    row = views.whole_row(db, project.row, story)
    stale.refuse_unfinished(row)
    return row


def _files(app: App, project: Project, row: Row) -> list[str]:
    mirror, landed = repository_of(app, project, row["story_id"]).mirror, Sha(row["merged_commit"])
    if mirror.objects.find([landed])[0] is None:
        return []  # another host has it; the map of owners tells as well
    return [file.path for file in mirror.changed(mirror.parent(landed), landed)]


def _tests(app: App, project: Project, row: Row) -> list[str]:
    place = repository_of(app, project, row["story_id"])
    landed = Sha(row["merged_commit"])
    if place.mirror.objects.find([landed])[0] is None:
        return []
    return tests_concerned(place.mirror, bytes(row["spec"]), landed, place.config.test.patterns)


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────────


def change(app: App, project: Project, radius: BlastRadius, said: SaidOfChange) -> MadeStale:
    """The stories of the radius become STALE, all or none; with their dependents, those of them that are DONE too."""
    reason = visible(said.why)[:LONGEST_WHY]
    if not reason:
        raise UsageError(f"say what has changed. Write it like: {EXAMPLE}")
    new = _new_spec(project, radius, said.spec) if said.spec is not None else None
    names = (*radius.stories, *(radius.done if said.with_dependents else ()))

    def of(row: Row) -> Invalidation:
        if row["story_id"] in radius.stories:
            return made_change(app, project, row, Invalidation(reason, said.person.name, new=new))
        because = f"{', '.join(radius.stories)}, which it depends on, has changed: {reason}"
        return made_change(app, project, row, Invalidation(because, said.person.name))

    stale.mark_changed(app.database, project.row.id, names, of)
    verb = "is" if len(names) == 1 else "are"
    told = f"{', '.join(names)} {verb} STALE: {reason.rstrip('. ')}. Nothing is built anew without your word."
    following = f"damascus show {names[0]}, then damascus approve {names[0]} or damascus change --undo {names[0]}"
    return MadeStale(told, following, names, radius)


def mark_changed(app: App, project: Project, story: str, change: Invalidation) -> None:
    """For whoever changes a spec by other means (`tasks add`): the done story becomes STALE, with `change.new` as the
    spec that is wanted now."""
    stale.mark_changed(app.database, project.row.id, [story], lambda row: made_change(app, project, row, change))


def made_change(app: App, project: Project, row: Row, change: Invalidation) -> Invalidation:
    """With the old tests concerned, and whether everything stops with it."""
    tests = change.tests or tuple(_tests(app, project, row))
    return replace(change, tests=tests, halts=project.config.tasks.on_stale == "halt")


def undo(db: Database, project: Project, stories: Sequence[str], person: Actor) -> Undone:
    """Back to done, each by itself: nothing of the change is on main."""
    names = tuple(stale.undo(db, project.row.id, story, person.name) for story in dict.fromkeys(stories))
    verb = "is" if len(names) == 1 else "are"
    said = f"{', '.join(names)} {verb} done again, as on main; who waited goes on."
    return Undone(said, goes_on(), names)


def approve_stale(db: Database, project: Project, story: str, person: Actor) -> ApprovedAnew:
    """The person has seen the old tests concerned (`concerned`): it is built anew, from its spec on."""
    done = stale.approve(db, project.row, story, person.name, refined=project.config.agent.refiner)
    derived = f" {', '.join(done.missing)} are derived anew and approved by that." if done.missing else ""
    tests = f" {plural(len(done.tests), 'old test')} may change." if done.tests else ""
    said = f"{done.story_id} is built anew from its spec, by {person.name}'s word.{tests}{derived}"
    return ApprovedAnew(said, goes_on(done.story_id), done.story_id, done.tests, done.missing, person.name)


def concerned(db: Database, project: Project, story: str) -> list[str] | None:
    """The old tests that a stale story may change once it is approved; None for a story that is not stale."""
    row = views.story_row(db, project.row, story)
    if row.phase != Phase.STALE:
        return None
    return list(views.whole_row(db, project.row, story)["change"]["tests"])


def _new_spec(project: Project, radius: BlastRadius, file: str) -> NewStory:
    if len(radius.stories) != 1:
        raise UsageError(f"--spec is the new spec of one story; these are {len(radius.stories)}. Name one of them.")
    try:
        new = story_of(Ground.of(project), file, rough=True)
    except UsageError as err:
        raise UsageError(str(err).replace(NOTHING, "Nothing was changed.")) from None
    if new.spec.story.lower() != radius.stories[0].lower():
        raise DamascusError(f"{file} is the spec of {new.spec.story}, not of {radius.stories[0]}. Nothing was changed.")
    return new
