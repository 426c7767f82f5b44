"""Statuses, checkpoints and decisions in the person's folder: a projection that loses no word of theirs."""

import os
import stat
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.engine.maintenance.projector import Projector
from damascus.engine.projecting import NAMES
from damascus.tasks.projections.region import region_of
from tests.engine.shell_stories import Watched, good
from tests.engine.task_yard import GRAPH, graph_text, neutral, project, statuses, task, task_yard
from tests.yard import Yard

KILLS = {
    "aside": "damascus.system.replacing.os.replace",
    "recorded": "damascus.engine.maintenance.projector.write_plain",
}
DECIDED = {"title": "No cache", "context": "c", "decision": "d", "trade_off": "t", "pattern": ""}


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return task_yard(tmp_path, database_url, "TASK-1", "TASK-2")


def work(yard: Yard, *names: str) -> None:
    script = {name: [{**good(name), "report": {"summary": f"made {name}", "decisions": [DECIDED]}}] for name in names}
    yard.work(Watched(yard, script))


@pytest.mark.req("A1.2", "A8.1", "A9.1")
def test_a_run_leaves_the_files_beside_the_graph_and_no_word_is_lost(yard: Yard) -> None:
    path = yard.repo / GRAPH
    path.chmod(0o640)
    before, head = path.read_bytes(), yard.main()
    work(yard, "TASK-1", "TASK-2")
    assert statuses(yard) == {"TASK-1": "DONE", "TASK-2": "DONE"}
    assert neutral(path.read_bytes()) == neutral(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    commit = yard.item("TASK-1")["merged_commit"]
    assert f"**Checkpoint:** {commit[:12]} 20".encode() in path.read_bytes()
    checkpoint = (yard.repo / "CHECKPOINT.md").read_text()
    assert "--- Task 1: Story TASK-1 — DONE ✅\nId: TASK-1\nTC: not run\n" in checkpoint
    [row] = yard.query("SELECT output FROM journal WHERE step = 'receipt' AND item_id = %s", yard.item("TASK-1")["id"])
    gates = next(line for line in checkpoint.splitlines() if line.startswith("Gates: ✅ tests | not verified: "))
    assert gates.endswith(" | not run: lint, types, build")
    names = [each.partition(": ")[0] for each in row["output"]["proof"]["unverified"]]
    assert "the project's own suite" in names and all(f" {name}: " in gates for name in names)
    assert "Notes: made TASK-1\n" in checkpoint
    assert "## DECISION-001: No cache\n" in (yard.repo / "DECISIONS.md").read_text()
    assert "| TASK-1.sh | TASK-1 |" in (yard.repo / "FILE_OWNERSHIP_MAP.md").read_text()
    landed = yard.git("diff", "--name-only", head, "main").splitlines()
    assert not {GRAPH, *NAMES} & set(landed), "never part of a story's commit"


@pytest.mark.req("A1.2")
def test_nothing_to_do_writes_nothing(yard: Yard) -> None:
    projector = Projector(yard.tools())
    assert set(project(yard, projector)) == set(NAMES), "the graph says PENDING already"
    marks = {name: os.stat(yard.repo / name).st_mtime_ns for name in NAMES}
    assert project(yard, projector) == [] and project(yard) == []
    assert marks == {name: os.stat(yard.repo / name).st_mtime_ns for name in NAMES}


@pytest.mark.req("A1.2")
def test_a_project_without_tasks_gets_no_file(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    assert project(yard) == [] and sorted(set(NAMES) & set(os.listdir(yard.repo))) == []


@pytest.mark.req("A1.2")
def test_a_status_edited_by_hand_is_reported_and_put_right_not_obeyed(yard: Yard) -> None:
    projector = Projector(yard.tools())
    project(yard, projector)
    path = yard.repo / GRAPH
    for _ in range(2):
        edited = path.read_bytes().replace(b"PENDING", b"DONE", 1)
        path.write_bytes(edited.replace(b"my  words on TASK-1", b"new words"))
        assert project(yard, projector) == [GRAPH]
        assert statuses(yard) == {"TASK-1": "PENDING", "TASK-2": "PENDING"} and b"new words" in path.read_bytes()
    assert yard.item("TASK-1")["phase"] == "build"
    told = [event["body"] for event in yard.events("TASK-1", "tasks.status_edited")]
    assert told == [{"file": GRAPH, "task": "TASK-1", "found": "DONE", "status": "PENDING"}] * 2
    path.write_bytes(graph_text("TASK-1", "TASK-2").encode())
    project(yard, projector)
    assert len(yard.events("TASK-1", "tasks.status_edited")) == 2, "what main has is no edit"


def _deleted(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere.md"))
    path.symlink_to("elsewhere.md")


def _read_only(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"PENDING", b"BLOCKED"))
    path.chmod(0o444)


def _not_text(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\xff\xfe")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


BAD = {
    _deleted: "is not there any more", _folder: "no plain file", _link: "a link", _read_only: "read-only",
    _not_text: "not UTF-8", _pipe: "no plain file",
}  # fmt: skip


@pytest.mark.req("A1.2")
@pytest.mark.parametrize("spoil", BAD)
def test_a_graph_that_cannot_be_written_is_one_note_and_holds_up_nothing(
    tmp_path: Path, database_url: str, spoil
) -> None:
    yard = task_yard(tmp_path, database_url, "TASK-1")
    path = yard.repo / GRAPH
    spoil(path)
    there = os.lstat(path) if path.exists() or path.is_symlink() else None
    with pytest.raises(DamascusError, match=BAD[spoil]) as caught:
        project(yard)
    assert str(caught.value).count("\n") == 0
    assert (there is None) == (not os.path.lexists(path))
    assert there is None or (there.st_ino, there.st_mtime_ns) == (os.lstat(path).st_ino, os.lstat(path).st_mtime_ns)
    assert all((yard.repo / name).is_file() for name in NAMES), "the others are written"


@pytest.mark.req("A1.2")
def test_the_builder_goes_on_without_its_graph(yard: Yard) -> None:
    (yard.repo / GRAPH).unlink()
    worker = yard.worker(Watched(yard, {"TASK-1": [good("TASK-1")], "TASK-2": [good("TASK-2")]}))
    worker.run(lambda: None)
    assert (yard.item("TASK-1")["phase"], yard.item("TASK-2")["phase"]) == ("done", "done")
    assert len(worker.unwritten) == 1 and "Bring it back: git restore TASK-GRAPH.md" in worker.unwritten[0]
    yard.git("restore", GRAPH)
    assert project(yard) == [GRAPH] and statuses(yard) == {"TASK-1": "DONE", "TASK-2": "DONE"}


@pytest.mark.req("A1.2")
@pytest.mark.parametrize("name", ["../out.md", "/tmp/out.md", ".git/x.md", "a//b.md"])
def test_nothing_is_written_outside_the_repository(tmp_path: Path, database_url: str, name: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.add(task("TASK-1").replace(f"graph: {GRAPH}", f"graph: {name}"))
    with pytest.raises(DamascusError, match="is no path inside"):
        project(yard)


@pytest.mark.req("A1.2")
def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path, database_url: str) -> None:
    yard = task_yard(tmp_path, database_url, "TASK-1", more='[tasks]\ngraph = "plan/TASK-GRAPH.md"\n')
    (tmp_path / "away").mkdir()
    (yard.repo / "plan").symlink_to(tmp_path / "away")
    with pytest.raises(DamascusError, match="no real folder"):
        project(yard)
    assert os.listdir(tmp_path / "away") == []


# ── the other files ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("A8.1", "A9.1")
def test_a_file_that_was_there_before_keeps_its_words(yard: Yard) -> None:
    path = yard.repo / "DECISIONS.md"
    path.write_bytes(b"# Ours since 2020\r\n- no tabs")
    project(yard)
    assert path.read_bytes().startswith(b"# Ours since 2020\r\n- no tabs\n\n<!-- damascus")
    path.write_bytes(path.read_bytes() + b"one more word")
    work(yard, "TASK-1")
    text = path.read_bytes()
    assert text.startswith(b"# Ours since 2020\r\n- no tabs\n") and text.endswith(b"one more word")
    assert b"DECISION-001" in (region_of(text) or b"") and not (yard.repo / "DECISIONS.md.orig").exists()


@pytest.mark.req("A8.1", "A9.1")
def test_words_between_our_marks_are_kept_in_a_copy(yard: Yard) -> None:
    project(yard)
    path = yard.repo / "ASSUMPTIONS.md"
    for number in (1, 2):
        edited = path.read_bytes().replace(b"None yet.", b"mine %d" % number)
        path.write_bytes(edited)
        assert project(yard) == ["ASSUMPTIONS.md"]
        kept = "ASSUMPTIONS.md.orig" if number == 1 else "ASSUMPTIONS.md.orig-2"
        assert (yard.repo / kept).read_bytes() == edited and b"mine" not in path.read_bytes()


@pytest.mark.req("A1.2", "A8.1")
@pytest.mark.parametrize("when", KILLS)
def test_a_kill_leaves_the_old_file_or_the_new_one(yard: Yard, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between record and rename, and between aside and rename: the next look takes nothing of it for a person's."""
    project(yard)
    before = {name: (yard.repo / name).read_bytes() for name in (GRAPH, *NAMES)}
    yard.query("UPDATE work_items SET phase = 'cancelled', state = 'resting' WHERE story_id = 'TASK-1' RETURNING 1")

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    target = (
        "damascus.system.replacing.os.replace"
        if when == "replace"
        else "damascus.engine.maintenance.projector.write_plain"
    )
    with monkeypatch.context() as patch:
        patch.setattr(target, die)
        with pytest.raises(Killed):
            project(yard)
    assert before == {name: (yard.repo / name).read_bytes() for name in before}
    assert set(project(yard)) == {GRAPH, "CHECKPOINT.md"}
    assert statuses(yard)["TASK-1"] == "BLOCKED" and yard.events("TASK-1", "tasks.status_edited") == []
    assert [name for name in os.listdir(yard.repo) if ".orig" in name] == []


@pytest.mark.req("A1.2")
def test_who_writes_at_the_same_moment_loses_nothing(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.query("UPDATE work_items SET phase = 'cancelled', state = 'resting' WHERE story_id = 'TASK-1' RETURNING 1")
    path = yard.repo / GRAPH
    from damascus.store import projections

    real = projections.note

    def edit(db: object, repo: int, one: object) -> None:
        path.write_bytes(path.read_bytes() + b" edited")
        real(db, repo, one)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(projections, "note", edit)
        with pytest.raises(DamascusError, match="at this moment"):
            project(yard)
    assert path.read_bytes().startswith(graph_text("TASK-1", "TASK-2").encode() + b" edited")
    project(yard)
    assert statuses(yard)["TASK-1"] == "BLOCKED" and b" edited" in path.read_bytes()


@pytest.mark.req("A1.2")
def test_where_main_is_not_checked_out_nothing_is_written(yard: Yard) -> None:
    yard.git("switch", "-qc", "mine")
    assert project(yard) == [] and not (yard.repo / "CHECKPOINT.md").exists()


# ── full checkpoints ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("A8.2")
@pytest.mark.parametrize("every", [3, 4, 5])
def test_a_full_checkpoint_after_every_so_many_tasks(tmp_path: Path, database_url: str, every: int) -> None:
    names = [f"TASK-{n}" for n in range(1, 12)]
    yard = task_yard(tmp_path, database_url, *names, more=f"[tasks]\ncheckpoint_every = {every}\n")
    projector = Projector(yard.tools())
    for count, name in enumerate(names[:10], 1):
        as_if_landed(yard, name)
        project(yard, projector)
        taken = yard.query("SELECT body FROM events_outbox WHERE kind = 'tasks.checkpoint' ORDER BY id")
        assert [row["body"]["done"] for row in taken] == list(range(every, count + 1, every))
    text = (yard.repo / "CHECKPOINT.md").read_text()
    assert text.count("=== Checkpoint ") == 10 // every
    first = text.partition("=== Checkpoint 1: ")[2]
    assert first.startswith(f"{every} tasks DONE — ")
    assert f"Done since the last: {', '.join(names[:every])}\n" in first
    assert f"Remaining: {11 - every} PENDING\n" in first, "as it was then"
    assert "Regression: nothing was run again\n" in first, "no mark, and no number"
    project(yard)
    assert len(yard.query("SELECT 1 FROM events_outbox WHERE kind = 'tasks.checkpoint'")) == 10 // every


def as_if_landed(yard: Yard, name: str) -> None:
    yard.query(
        "UPDATE work_items SET phase = 'done', state = 'resting', claims = 1, merged_commit = repeat('a', 40),"
        " pr_url = 'local#1' WHERE story_id = %s RETURNING 1", name,
    )  # fmt: skip
    yard.query(
        "INSERT INTO events_outbox (project_id, item_id, kind, body) SELECT project_id, id, 'story.landed',"
        " jsonb_build_object('commit', merged_commit, 'proof', 'p') FROM work_items"
        " WHERE story_id = %s RETURNING 1", name,
    )  # fmt: skip


# ── our own bytes and a landing ───────────────────────────────────────────────────────────────────────


@pytest.mark.req("A1.2", "A8.1")
def test_our_own_bytes_never_hold_a_landing(tmp_path: Path, database_url: str) -> None:
    """A later story changes the graph itself, and brings a CHECKPOINT.md that main did not have."""
    yard = task_yard(tmp_path, database_url, "TASK-1")
    work(yard, "TASK-1")
    assert yard.git("status", "--porcelain", GRAPH) != "" and (yard.repo / "CHECKPOINT.md").exists()
    yard.add(task("TASK-2", scope=["TASK-2.sh", "tests/test_TASK-2.sh", GRAPH, "CHECKPOINT.md"]))
    new = graph_text("TASK-1", "TASK-2")
    yard.work(Watched(yard, {"TASK-2": [good("TASK-2", **{GRAPH: new, "CHECKPOINT.md": "theirs\n"})]}))
    assert yard.item("TASK-2")["phase"] == "done", yard.questions()
    assert yard.on_main(GRAPH) == new.replace("\r\n", "\n").strip() and yard.on_main("CHECKPOINT.md") == "theirs"
    assert statuses(yard) == {"TASK-1": "DONE", "TASK-2": "DONE"}
    assert (yard.repo / "CHECKPOINT.md").read_text().startswith("theirs\n\n<!-- damascus")


@pytest.mark.req("A1.2")
@pytest.mark.parametrize("theirs", ["words", "staged", "undone"])
def test_a_persons_words_hold_it_as_ever(tmp_path: Path, database_url: str, theirs: str) -> None:
    yard = task_yard(tmp_path, database_url, "TASK-1")
    work(yard, "TASK-1")
    path = yard.repo / GRAPH
    if theirs == "words":
        path.write_bytes(path.read_bytes() + b" and mine")
        project(yard)  # ours again, but for their words
    elif theirs == "undone":  # their words were on main, and are in no commit of it any more
        path.write_bytes(path.read_bytes() + b" and mine")
        yard.git("commit", "-qam", "mine")
        project(yard)
        yard.git("reset", "-q", "HEAD~1")
    else:
        yard.git("add", GRAPH)
    kept = path.read_bytes()
    yard.add(task("TASK-2", scope=["TASK-2.sh", "tests/test_TASK-2.sh", GRAPH]))
    worker = yard.worker(Watched(yard, {"TASK-2": [good("TASK-2", **{GRAPH: graph_text("TASK-1", "TASK-2")})]}))
    worker.run(lambda: worker.stop() if yard.questions() and not worker.stopping() else None)
    assert yard.item("TASK-2")["phase"] == "merge" and GRAPH in yard.questions()[0]
    assert neutral(path.read_bytes()) == neutral(kept)
