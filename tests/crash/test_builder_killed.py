"""kill -9 at every effect of what a person does at the builder (`tasks add`, `change`, `approve`, `plan`, `ship`,
`tasks commit`) and of the projector: done again, all is as if nobody had died. What is STALE stays so unasked."""

import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import DamascusError
from damascus.engine.maintenance.projector import Projector
from damascus.engine.tools import nothing
from damascus.people import changes_of_tasks, planning, shipping, task_files, task_graph
from damascus.people.acts import Actor
from damascus.people.changes_of_tasks import SaidOfChange
from damascus.store.stream import publish
from tests.crash.errand import Deed, moments_of
from tests.tasks.graphs import graph, task
from tests.yard import Yard

GRAPH = "TASK-GRAPH.md"
ADA = Actor("Ada")
FIRST = graph(task(1), task(2, [1]), task(3))
EDITED = graph(task(1, title="Another first part"), task(2, [1]), task(3, title="Another third part"))
FILES = {"README": "a yard\n", ".gitignore": "__pycache__/\n", GRAPH: FIRST}
NUMBERS = {"id", "uuid", "project_id", "project", "repo_id", "depends_on", "spans", "fence", "merged_commit"}
TIMES = {"ready_at", "deadline_at", "created_at", "updated_at", "first_attempted_at"}


# ── what is done ──────────────────────────────────────────────────────────────────────────────────────


def add(yard: Yard) -> None:
    difference = task_graph.compare(yard.db, yard.project, yard.repo / GRAPH)
    assert not difference.faults
    task_graph.add(yard.app, yard.project, difference, ADA, stale=True)


def change(yard: Yard) -> None:
    radius = changes_of_tasks.blast_radius(yard.app, yard.project, ["TASK-001"])
    said = SaidOfChange("prices are in cents now", ADA, with_dependents=True)
    changes_of_tasks.change(yard.app, yard.project, radius, said)


def undo_change(yard: Yard) -> None:
    """Each story by itself; those that are done again already are told so."""
    for name in ("TASK-001", "TASK-002"):
        with suppress(DamascusError):
            changes_of_tasks.undo(yard.db, yard.project, [name], ADA)


def approve(yard: Yard) -> None:
    changes_of_tasks.approve_stale(yard.db, yard.project, "TASK-001", ADA)


def plan(yard: Yard) -> None:
    (yard.folder / "IDEA.md").write_text("# A shop\n\nIt sells things.\n")
    planning.plan(yard.db, yard.project, str(yard.folder / "IDEA.md"))


def commit(yard: Yard) -> None:
    task_files.commit(yard.db, yard.project)


def ship(yard: Yard) -> None:
    shipping.ship(yard.app, yard.project, "Ada", "", nothing)


def undo_ship(yard: Yard) -> None:
    shipping.undo(yard.app, yard.project, ADA)


def project(yard: Yard) -> None:
    publish(yard.db)
    Projector(yard.tools()).look()


# ── where it is done ──────────────────────────────────────────────────────────────────────────────────


def edit(yard: Yard) -> None:
    yard.write({GRAPH: EDITED})


def land(yard: Yard) -> None:
    """Two of three, as a worker leaves them."""
    mine = (yard.row.id, ["TASK-001", "TASK-002"])
    yard.query(
        "UPDATE work_items SET phase = 'done', state = 'resting', claims = 1, merged_commit = %s, pr_url = 'p',"
        " wait_kind = NULL, wait_key = NULL WHERE project_id = %s AND story_id = ANY(%s) RETURNING 1",
        yard.main(),
        *mine,
    )
    yard.query(
        "INSERT INTO events_outbox (project_id, item_id, kind, body) SELECT project_id, id, 'story.landed',"
        " jsonb_build_object('commit', merged_commit, 'proof', 'p') FROM work_items"
        " WHERE project_id = %s AND story_id = ANY(%s) ORDER BY id RETURNING 1",
        *mine,
    )


@dataclass(frozen=True)
class Scene:
    """What was done before, and how many transactions and files the deed writes."""

    deed: Deed
    before: tuple[Callable[[Yard], object], ...] = ()
    transactions: int = 1
    files: int = 0

    @property
    def moments(self) -> list[str]:
        both = (("commits", "committed", self.transactions), ("replaces", "replaced", self.files))
        return [f"{word} {n}" for begins, ends, last in both for n in range(1, last + 1) for word in (begins, ends)]


SCENES = {
    "add": Scene(add),
    "add-after-an-edit": Scene(add, (add, land, edit), transactions=3),
    "change": Scene(change, (add, land), transactions=3),
    "change-undo": Scene(undo_change, (add, land, change), transactions=2),
    "approve": Scene(approve, (add, land, change)),
    "plan": Scene(plan),
    "commit": Scene(commit, (add, land)),
    "ship": Scene(ship, (add, land), transactions=2),
    "ship-undo": Scene(undo_ship, (add, land, ship)),
    "projector": Scene(project, (add, land), transactions=6, files=5),
}
CASES = [(name, moment) for name, scene in SCENES.items() for moment in scene.moments]


def yard_of(folder: Path, url: str, scene: Scene) -> Yard:
    yard = Yard(folder, url, files=FILES)
    for each in scene.before:
        each(yard)
    return yard


def state(yard: Yard) -> dict[str, Any]:
    """Everything that people could notice, without numbers, times and the name of main's commit."""
    mine = yard.row.id
    rows = yard.query("SELECT * FROM work_items WHERE project_id = %s ORDER BY story_id", mine)
    asked = yard.query("SELECT question FROM human_issues WHERE project_id = %s AND closed_at IS NULL", mine)
    events = yard.query("SELECT kind FROM events_outbox WHERE project_id = %s", mine)
    ships = yard.query("SELECT declared_by, verdict, undone_by FROM ships WHERE project_id = %s ORDER BY id", mine)
    told = {
        "items": [{key: value for key, value in row.items() if key not in NUMBERS | TIMES} for row in rows],
        "questions": sorted(row["question"] for row in asked),
        "events": Counter(row["kind"] for row in events),
        "ships": ships,
        "files": {path.name: path.read_text() for path in sorted(yard.repo.iterdir()) if path.is_file()},
    }
    text = re.sub(rf"{yard.main()[:7]}[0-9a-f]*", "MAIN", json.dumps(told, default=str))
    found: dict[str, Any] = json.loads(re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|\+[\d:]+)?", "TIME", text))
    return found


@pytest.mark.req("D20", "A3.3")
@pytest.mark.parametrize(
    ("name", "moment"), CASES, ids=[f"{name}-{moment.replace(' ', '-')}" for name, moment in CASES]
)
def test_killed_and_done_again(tmp_path: Path, database_url: str, name: str, moment: str) -> None:
    scene = SCENES[name]
    undisturbed = yard_of(tmp_path / "undisturbed", database_url, scene)
    scene.deed(undisturbed)
    yard = yard_of(tmp_path / "killed", database_url, scene)
    before = state(yard)
    moments_of(yard, scene.deed, dies_at=moment)
    if moment == "commits 1":
        assert state(yard) == before, "all or none"
    if scene.deed not in (plan, change) or state(yard) == before:  # said twice it is a second plan, a second change
        with suppress(DamascusError):  # where all of it is done, it says so
            scene.deed(yard)
    assert state(yard) == state(undisturbed)
    assert yard.git("status", "--porcelain", "README") == ""


@pytest.mark.req("D20")
@pytest.mark.parametrize("name", SCENES)
def test_no_effect_is_left_out_of_the_kills(tmp_path: Path, database_url: str, name: str) -> None:
    yard = yard_of(tmp_path, database_url, SCENES[name])
    assert sorted(moments_of(yard, SCENES[name].deed)) == sorted(SCENES[name].moments)


@pytest.mark.req("A3.3")
@pytest.mark.parametrize("name", ["add-after-an-edit", "change"])
def test_what_became_stale_under_a_kill_is_claimed_by_nobody(tmp_path: Path, database_url: str, name: str) -> None:
    """The database itself refuses it; only a person's word begins it anew."""
    yard = yard_of(tmp_path, database_url, SCENES[name])
    moments_of(yard, SCENES[name].deed, dies_at=f"committed {SCENES[name].transactions}")
    assert yard.item("TASK-001")["phase"] == "stale"
    yard.work(yard.agent("sys.exit('nobody may be sent')"))
    assert (yard.item("TASK-001")["phase"], yard.item("TASK-001")["claims"]) == ("stale", 1)
    approve(yard)
    assert yard.item("TASK-001")["phase"] in ("spec", "build")
