"""Stories enter the queue, all of a command or none; or their files are only looked through."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from damascus.app import Project
from damascus.domain.verdict import Phase
from damascus.git.repository import Repository
from damascus.people.acts import Done
from damascus.people.spec_files import NOTHING, Ground, examined, named_twice, refuse_named_twice, story_of, warnings
from damascus.people.spec_texts import story_of_text
from damascus.store import queueing
from damascus.store.db import Database
from damascus.store.projects import ProjectRow
from damascus.store.queueing import NewStory, Queued
from damascus.telling.phrases import listed, plural

NO_QUEUE = "There is no queue of this repository here, so ids and dependencies were compared with these files only."
NAMED = 3


@dataclass(frozen=True)
class Added(Done):
    """What became of each story, and what is probably a slip in a new one."""

    queued: tuple[Queued, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Checked(Done):
    """Everything that is wrong with the files, and what is probably a slip."""

    files: int
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def add(db: Database, project: Project, names: Sequence[str], *, rough: bool = False) -> Added:
    """By the names of their spec files. What is unchanged is skipped, the first mistake refuses all."""
    refuse_named_twice(names)
    ground = Ground.of(project)
    return _added(db, project, ground, [story_of(ground, name, rough=rough) for name in names])


def add_texts(db: Database, project: Project, texts: Sequence[str], *, rough: bool = False) -> Added:
    """By what the specs say: for a program that has no file. Each is kept as specs/STORY.md, which is not written."""
    ground = Ground.of(project)
    return _added(db, project, ground, [story_of_text(ground, text, rough=rough) for text in texts])


def _added(db: Database, project: Project, ground: Ground, stories: list[NewStory]) -> Added:
    config = project.config
    prefix, budget = config.project.branch_prefix, config.limits.budget_cycles
    queued = queueing.add(db, project.row, stories, prefix, budget, keep_unchanged=len(stories) > 1)
    new = {one.story_id for one in queued if not one.unchanged}
    slips = warnings(ground, [story for story in stories if story.spec.story in new])
    said = "\n".join(_sentences(queued, {str(story.spec.story): story.spec.title for story in stories}))
    return Added(said, "damascus run" if new else "damascus status", tuple(queued), tuple(slips))


def _sentences(queued: list[Queued], titles: dict[str, str]) -> Iterator[str]:
    skipped = [one for one in queued if one.unchanged]
    for one in queued:
        if not one.unchanged:
            became = "replaced" if one.replaced else "queued"
            yield f"{one.story_id}  {titles[one.story_id]}: {became}, phase {one.phase}"
    ended = [one for one in skipped if one.phase in queueing.ENDED]
    for one in ended:
        cure = (
            f"damascus retry {one.story_id}" if one.phase == Phase.BLOCKED else "add its file alone to queue it again"
        )
        yield f"{one.story_id}  {titles[one.story_id]}: unchanged and {one.phase}, so it stays that: {cure}"
    rest = [one.story_id for one in skipped if one not in ended]
    if rest:
        yield f"{plural(len(rest), 'story is', 'stories are')} unchanged and skipped: {listed(rest, 10)}"


# ── only looked through ───────────────────────────────────────────────────────────────────────────────


def check(db: Database, project: Project, names: Sequence[str], *, rough: bool = False) -> Checked:
    """Everything that is wrong with every file. Nothing is written."""
    return _checked(Ground.of(project), (db, project.row), names, rough=rough)


def check_clone(
    repository: Repository, environ: Mapping[str, str], names: Sequence[str], *, rough: bool = False
) -> Checked:
    """The same in a repository that is no project here: there is no queue to ask."""
    return _checked(Ground.of_clone(repository, environ), None, names, rough=rough)


def _checked(
    ground: Ground, queue: tuple[Database, ProjectRow] | None, names: Sequence[str], *, rough: bool
) -> Checked:
    looked = [examined(ground, name, rough=rough) for name in dict.fromkeys(names)]
    stories = [story for story, _ in looked if story is not None]
    errors = [*named_twice(names), *(text for _, problems in looked for text in problems), *_of_queue(queue, stories)]
    counted = f"{plural(len(looked), 'file')} looked at, {plural(len(errors), 'error')}. {NOTHING}"
    said = counted if queue else f"{NO_QUEUE}\n{counted}"
    again = f"damascus add {' '.join(names)}" if len(names) <= NAMED else "damascus add with the same files"
    following = f"correct them, then {again}" if errors else again
    told = tuple(text.replace(f" {NOTHING}", "") for text in errors)
    return Checked(said, following, len(looked), told, tuple(warnings(ground, stories)))


def _of_queue(queue: tuple[Database, ProjectRow] | None, stories: list[NewStory]) -> list[str]:
    known = queueing.named(*queue, stories) if queue else None
    return list(queueing.problems(stories, known))
