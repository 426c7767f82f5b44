"""Work comes in from elsewhere: what a source describes becomes specs and stories, all of them or none (X15).

Whatever is done twice changes nothing: a story is known again by the source that its spec names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from damascus import stacks
from damascus.app import Project
from damascus.domain.errors import UsageError
from damascus.domain.scope import GLOB_CHARS, parse_scope
from damascus.domain.spec import digest, parse_spec, read_spec
from damascus.domain.verdict import Phase
from damascus.engine.maintenance.ticking import TickedBoxes, tick
from damascus.people.acts import Done
from damascus.people.import_files import SpecFiles
from damascus.people.import_sources import NOTHING, find_source
from damascus.people.spec_files import Ground
from damascus.store import queueing
from damascus.store.db import Database
from damascus.store.imports import imported_before
from damascus.store.queueing import NewStory
from damascus.tasks.importers.graphs import graph_text, in_graph
from damascus.tasks.importers.planning import Decided, Fate, KnownImport, decided, gone
from damascus.tasks.importers.record import Imported
from damascus.tasks.importers.story_specs import Drafted, spec_text
from damascus.telling.phrases import listed, plural

FOLDER = "specs/imported"
QUEUED = (Fate.NEW, Fate.CHANGED)


@dataclass(frozen=True)
class PlannedStory:
    """A story of the source with its spec, and what becomes of it."""

    draft: Drafted
    decided: Decided
    raw: bytes
    path: str
    difference: str = ""

    @property
    def fate(self) -> Fate:
        return self.decided.fate

    @property
    def rough(self) -> bool:
        return bool(self.draft.lacks)


@dataclass(frozen=True)
class ImportPlan:
    """Everything that an import would do. Nothing is written yet."""

    format: str
    stories: tuple[PlannedStory, ...]
    gone: tuple[KnownImport, ...]

    @property
    def queued(self) -> list[PlannedStory]:
        return [one for one in self.stories if one.fate in QUEUED]


@dataclass(frozen=True)
class ImportDone(Done):
    """The stories that were queued or replaced, and the files that were written."""

    stories: tuple[str, ...]
    files: tuple[str, ...]


def plan(db: Database, project: Project, name: str, kind: str = "", into: str = FOLDER) -> ImportPlan:
    """Of a folder or file in one of the formats."""
    found = find_source(project.repository.top, name, kind)
    records = found.importer.read(found.files)
    if not records:
        mains = listed(list(found.mains))
        raise UsageError(
            f"{mains} has no task that {found.importer.name} would know ({found.importer.looks_like}). {NOTHING}"
        )
    return plan_records(db, project, found.importer.name, records, (into, found.mains))


def plan_records(
    db: Database, project: Project, kind: str, records: Sequence[Imported], where: tuple[str, Sequence[str]]
) -> ImportPlan:
    """`where`: the folder for the specs, and the files that were read."""
    into, files = where
    before = imported_before(db, project.row)
    drafting = _Drafting(Ground.of(project), kind, inside(project, into))
    stories = tuple(drafting.planned(each) for each in decided(kind, records, before))
    return ImportPlan(kind, stories, tuple(gone(kind, records, files, before)))


def inside(project: Project, into: str) -> str:
    """The folder relative to the repository."""
    top = project.repository.top.resolve()
    whole = (top / into).resolve()
    if not whole.is_relative_to(top) or whole == top or ".git" in whole.relative_to(top).parts:
        raise UsageError(f"{into} is no folder inside this repository. Name one, like {FOLDER}. {NOTHING}")
    return whole.relative_to(top).as_posix()


class _Drafting:
    """Records become drafts: paths checked against main, and the command that runs the project's tests."""

    def __init__(self, ground: Ground, kind: str, into: str) -> None:
        self.ground, self.kind, self.into = ground, kind, into
        listing = ground.listing()
        told = ground.config.test.command
        self.command = told if told not in ("", "none") else stacks.default_command(listing) or ""
        self.folders = {folder for path in listing for folder in _folders(path)}
        self.patterns = tuple(ground.config.test.patterns)

    def planned(self, each: Decided) -> PlannedStory:
        path = each.known.path if each.known else f"{self.into}/{each.story}.md"
        scope, refused = self._scope(each.one, path)
        command = each.one.test_command or self.command
        draft = Drafted(each.one, self.kind, each.story, each.depends_on, scope, command, refused, self.patterns)
        raw = spec_text(draft)
        shown = _difference(each.known, raw) if each.known and each.fate in (Fate.CHANGED, Fate.LEFT) else ""
        return PlannedStory(draft, each, raw, path, shown)

    def _scope(self, one: Imported, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Each by itself: what no story may write is told, not queued. The source is nobody's to tick but ours."""
        kept: list[str] = []
        refused: list[str] = []
        for each in one.scope:
            told = f"{each}/" if each in self.folders and not GLOB_CHARS.search(each) else each
            try:
                kept += parse_scope([told], protected=(path, one.file)).patterns
            except UsageError:
                refused.append(each)
        return tuple(dict.fromkeys(kept)), tuple(refused)


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _difference(known: KnownImport, raw: bytes) -> str:
    """What the source says now against what was queued; of a spec that an agent completed, its source's words alone."""
    old, new = known.spec.decode("utf-8", errors="replace"), raw.decode()
    if digest(known.spec) != known.added:
        old, new = (_own_words(text) for text in (old, new))
    lines = unified_diff(old.split("\n"), new.split("\n"), "queued", "source", lineterm="", n=1)
    return "\n".join(each for each in lines if "<!-- import " not in each)


def _own_words(text: str) -> str:
    return "\n".join(each for each in text.split("\n") if each.startswith(("> ", "- [", "title:")))


# ── done ──────────────────────────────────────────────────────────────────────────────────────────────


def carry_out(db: Database, project: Project, planned: ImportPlan) -> ImportDone:
    """Files and queue together, or neither."""
    stories = [_new(one) for one in planned.queued]
    files = SpecFiles(project.repository.top)
    files.refuse(planned.queued)
    config = project.config
    try:
        written = files.write(planned.queued)
        queueing.add(db, project.row, stories, config.project.branch_prefix, config.limits.budget_cycles, unbegun=True)
    except BaseException:
        files.undo()
        raise
    return ImportDone(_said(planned), _following(planned), tuple(s.spec.story for s in stories), tuple(written))


def _new(one: PlannedStory) -> NewStory:
    spec, problems = read_spec(one.raw, one.path, rough=one.rough)
    if spec is None or problems:
        raise UsageError(f"{problems[0]} {NOTHING}")
    return NewStory(spec, one.raw, one.path, None, one.rough, one.path)


def _said(planned: ImportPlan) -> str:
    queued = planned.queued
    if not queued:
        return "Nothing is new: everything that is left to do there was imported before."
    rough = [one for one in queued if one.rough]
    whole = len(queued) - len(rough)
    told = [f"{whole} to build" if whole else "", f"{len(rough)} to refine first" if rough else ""]
    parts = ", ".join(part for part in told if part)
    folder = str(Path(queued[0].path).parent)
    return f"{plural(len(queued), 'story', 'stories')} queued ({parts}), specs in {folder}/."


def _following(planned: ImportPlan) -> str:
    return "damascus run" if planned.queued else "damascus status"


def write_graph(project: Project, planned: ImportPlan, name: str, here: Path) -> ImportDone:
    """In the place of specs: a task graph of what is whole. Nothing is queued, and no file is written over."""
    drafts = [one.draft for one in planned.stories if one.fate is not Fate.DONE and one.fate is not Fate.SKIPPED]
    kept = in_graph(drafts)
    if not kept:
        raise UsageError(f"no story of it is whole, so there is no task graph to write. {NOTHING}")
    path = here / name
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(graph_text(drafts))
    except FileExistsError:
        raise UsageError(f"{name} exists, so nothing was written. Name another file. {NOTHING}") from None
    except OSError as err:
        raise UsageError(f"{name} can't be written: {err.strerror or err}. Name another file. {NOTHING}") from None
    left = len(drafts) - len(kept)
    more = f" {plural(left, 'story is', 'stories are')} not whole and not in it." if left else ""
    return ImportDone(f"{name}: {plural(len(kept), 'task')}.{more}", f"damascus tasks check {name}", (), (name,))


def tick_again(project: Project, planned: ImportPlan) -> list[TickedBoxes]:
    """Of stories that main has, and whose boxes somebody took back; the worker ticked them when they landed."""
    told = []
    for one in planned.stories:
        known = one.decided.known
        if known is None or known.phase != Phase.DONE or one.draft.one.done or not _on_main(project, known):
            continue
        told.append(tick(project.repository.top, parse_spec(known.spec, known.path, rough=True)))
    return told


def _on_main(project: Project, known: KnownImport) -> bool:
    main = f"refs/heads/{project.row.main_branch}"
    asked = project.repository.git.run("merge-base", "--is-ancestor", known.commit, main, check=False)
    return bool(known.commit) and asked.code == 0
