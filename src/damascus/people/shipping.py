"""`damascus ship`: a person declares SHIP, main is verified, and the release's receipt has the verdict (A2).

Declaring stops everything in one transaction; verifying may take long and may die: asked again, it goes on with the
same declaration, from main as it is then.
"""

from collections.abc import Callable
from dataclasses import dataclass

from damascus.app import App, Project
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import Sha
from damascus.domain.release import ReleaseReceipt, ReleaseVerdict, RepositoryOfRelease, TaskOfRelease
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase, TaskStatus
from damascus.domain.visible import visible
from damascus.engine.maintenance.regressions import Stretch, mark_broken
from damascus.engine.tools import Tools, nothing
from damascus.people import claims
from damascus.people.acts import Actor, Done, goes_on
from damascus.people.release_checks import DoneTask, MainVerified
from damascus.store import owners, receipts, ships, views
from damascus.store.ships import Ship
from damascus.store.views import StoryRow
from damascus.toolset import make_tools

UNDO = "damascus ship --undo"
LONGEST = 1000


@dataclass(frozen=True)
class Shipped(Done):
    """The release's receipt, verdict included."""

    receipt: ReleaseReceipt

    @property
    def code(self) -> int:
        return 1 if self.receipt.verdict is ReleaseVerdict.NO_SHIP else 0


@dataclass(frozen=True)
class ShipUndone(Done):
    """Who took it back."""

    by: str


def ship(app: App, project: Project, by: str, note: str, progress: Callable[[str], None]) -> Shipped:
    """Declare, or go on with what was declared, and verify main."""
    who = visible(by)[:LONGEST]
    if not who:
        raise UsageError("say who declares it. Write it like: damascus ship --by 'Ada Lovelace'")
    db, number = app.database, project.row.id
    declared = ships.declare(db, number, who, visible(note)[:LONGEST])
    found = ships.current(db, number)
    if found is None:
        raise DamascusError("SHIP was taken back at this moment. Nothing was verified.")
    if found.verdict is not None:
        raise DamascusError(
            f"SHIP was declared by {found.declared_by} already, and the verdict is {found.verdict}. See it: damascus "
            f"ship --show. To go on with work, and to verify anew later: {UNDO}"
        )
    if not declared:
        progress(f"SHIP was declared by {found.declared_by}: verifying main goes on")
    receipt = _verified(app, project, found, progress)
    if not ships.verified(db, number, found, receipt):
        raise DamascusError("SHIP was verified by another command, or taken back. See: damascus ship --show")
    return _shipped(receipt)


def shown(app: App, project: Project) -> Shipped:
    """What was declared and came of it."""
    found = ships.current(app.database, project.row.id)
    if found is None:
        raise DamascusError("SHIP is not declared. Declare it: damascus ship --by NAME")
    if found.receipt is None:
        raise DamascusError(
            f"SHIP was declared by {found.declared_by}, and main is not verified yet. To go on: damascus ship --by NAME"
        )
    return _shipped(ReleaseReceipt.model_validate(found.receipt))


def undo(app: App, project: Project, person: Actor) -> ShipUndone:
    """Work goes on."""
    if not ships.undo(app.database, project.row.id, person.name):
        raise DamascusError("SHIP is not declared, so there is nothing to take back.")
    return ShipUndone("SHIP is taken back: work goes on.", goes_on(), person.name)


def _shipped(receipt: ReleaseReceipt) -> Shipped:
    commits = ", ".join(f"{repo.repo} at {repo.commit[:10]}" for repo in receipt.repositories)
    said = f"{receipt.verdict}: {receipt.verdict.means} ({commits})."
    return Shipped(said, f"{UNDO} lets work go on; the receipt: damascus ship --show --json", receipt)


def _verified(app: App, project: Project, declared: Ship, progress: Callable[[str], None]) -> ReleaseReceipt:
    rows = list(views.every_row(app.database, project.row))
    repositories = [_main_of(app, each, rows, progress) for each in app.repositories(project)]
    rows = list(views.every_row(app.database, project.row))  # what main does not keep is STALE by now
    return ReleaseReceipt(
        project=project.row.name,
        declared_by=declared.declared_by,
        declared_at=declared.declared_at.isoformat(),
        note=declared.note,
        tasks=_tasks(app, project, rows),
        repositories=repositories,
    ).judged()


def _main_of(app: App, project: Project, rows: list[StoryRow], progress: Callable[[str], None]) -> RepositoryOfRelease:
    tools = make_tools(app, project, None, lambda: False, nothing)
    main = MainVerified(tools, _done(app, project, rows), progress)
    verified = main.verify()
    mark_broken_promises(tools, main)
    return verified


def mark_broken_promises(tools: Tools, main: MainVerified) -> None:
    """A task whose contract main does not keep, in two runs, is STALE, as after a commit by hand."""
    for story in dict.fromkeys(one.task.story for one in main.broken):
        broken = [one for one in main.broken if one.task.story == story]
        tests = list(dict.fromkeys(test for one in broken for test in one.tests))
        files = owners.files_of(tools.db, tools.project.repo_id, [story]).get(story, [])
        since = Stretch(broken[0].task.commit or main.tip, main.tip, ours=False)
        mark_broken(tools, since, story, tests, list(dict.fromkeys([*files, *(one.contract.file for one in broken)])))


def _tasks(app: App, project: Project, rows: list[StoryRow]) -> list[TaskOfRelease]:
    missing = {name for each in app.repositories(project) for name in claims.not_on_main(app, each)}
    return [_task(app, row, row.story_id not in missing) for row in rows]


def _task(app: App, row: StoryRow, on_main: bool) -> TaskOfRelease:
    receipt = receipts.latest_receipt(app.database, row.id) if row.phase == Phase.DONE else None
    touched = set(receipt.requirements.touched) if receipt else set()
    needs = {
        name: word for name, word in (receipt.requirements.fr_status if receipt else {}).items() if name in touched
    }
    return TaskOfRelease(
        story=row.story_id,
        title=row.title,
        status=TaskStatus(row.status),
        cancelled=row.phase == Phase.CANCELLED,
        commit=row.merged_commit,
        on_main=on_main,
        receipt=receipt.status if receipt else None,
        requirements=needs,
    )


def _done(app: App, project: Project, rows: list[StoryRow]) -> list[DoneTask]:
    """Of this repository."""
    found = []
    for row in rows:
        whole = views.whole_row(app.database, project.row, row.story_id)
        if row.phase == Phase.DONE and whole["repo_id"] == project.row.repo_id:
            spec = parse_spec(bytes(whole["spec"]), whole["spec_path"], rough=True)
            found.append(DoneTask(row.story_id, spec, Sha(row.merged_commit) if row.merged_commit else None))
    return found
