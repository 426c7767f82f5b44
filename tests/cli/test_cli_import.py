"""damascus import: what others planned becomes specs and stories, nothing twice, and ticks only of what is on main."""

import os
from pathlib import Path

import pytest

from damascus.domain.spec import parse_spec
from damascus.engine.maintenance.ticking import Ticking
from tests.cli.conftest import Cli, everything
from tests.tasks.import_samples import QUEUED, SAMPLES, SPEC_KIT, TICKED, WHOLE
from tests.yard import Yard

TASKS = "specs/001-csv/tasks.md"
LINE = "- [ ] T004 [US1] Implement reader in src/io/csv.py (depends on T002, T003)\n"


def laid(yard: Yard, kind: str) -> dict[str, str]:
    yard.write(SAMPLES[kind])
    return {name: (yard.repo / name).read_bytes().decode() for name in SAMPLES[kind]}


def landed(yard: Yard, story: str, commit: str = "") -> None:
    """As if its work had come to main, where its commit is the tip."""
    tip = commit or yard.git("rev-parse", "main").strip()
    yard.query(
        "UPDATE work_items SET phase = 'done', state = 'resting', merged_commit = %s, pr_url = 'local://1', "
        "updated_at = now() WHERE story_id = %s RETURNING id", tip, story,
    )  # fmt: skip


@pytest.mark.req("X15.1", "X15.3")
@pytest.mark.parametrize("kind", SAMPLES)
def test_round_trip(kind: str, yard: Yard, cli: Cli) -> None:
    """Imported, not twice, ticked on main and not before, and every other byte is as it was."""
    files = laid(yard, kind)
    ran = cli("import", ".", "--yes")
    assert ran.code == 0, ran.err
    rows = {row["story_id"]: row for row in yard.query("SELECT * FROM work_items")}
    ids = {row["id"]: story for story, row in rows.items()}
    assert {story: [ids[dep] for dep in row["depends_on"]] for story, row in rows.items()} == QUEUED[kind]
    assert {story for story, row in rows.items() if row["phase"] == "build"} == {WHOLE[kind]}
    for story, row in rows.items():
        written = (yard.repo / "specs/imported" / f"{story}.md").read_bytes()
        assert written == bytes(row["spec"]) and row["spec_path"] == f"specs/imported/{story}.md"
        parse_spec(written, story, rough=row["phase"] == "spec")

    before = everything(yard)
    again = cli("import", ".", "--yes")
    assert again.code == 0 and "Nothing is new" in again.out and everything(yard) == before
    assert cli("import", ".").code == 0, "nothing to queue is nothing to agree to"

    ticking = Ticking(yard.tools())
    assert ticking.look() == []
    landed(yard, WHOLE[kind], "0" * 40)
    assert ticking.look() == [], "done by the queue's word alone"
    assert {name: (yard.repo / name).read_text() for name in files} == files, "nothing is ticked before it is on main"
    landed(yard, WHOLE[kind])
    [told] = ticking.look()
    file = next(name for name, text in files.items() if all(old in text for old, _ in TICKED[kind]))
    expected = files[file]
    for old, new in TICKED[kind]:
        expected = expected.replace(old, new)
    assert {name: (yard.repo / name).read_text() for name in files} == files | {file: expected}
    assert told.left == (("run: bd close bd-a1",) if kind == "beads" else ())
    assert ticking.look() == [] and Ticking(yard.tools()).look() == []
    assert [event["body"]["file"] for event in yard.events(WHOLE[kind], "source.ticked")] == [told.file]
    assert "Nothing is new" in cli("import", ".", "--yes").out, "a tick of ours is no edit of the source"


@pytest.mark.req("X15.3")
def test_a_tick_that_was_taken_back_is_made_again_by_an_import(yard: Yard, cli: Cli) -> None:
    laid(yard, "spec-kit")
    cli("import", ".", "--yes")
    landed(yard, "001-csv.US1")
    Ticking(yard.tools()).look()
    yard.write(SPEC_KIT)
    assert cli("import", ".", "--yes").code == 0
    assert "- [x] T003" in (yard.repo / TASKS).read_text()
    yard.write(SPEC_KIT)
    yard.query("UPDATE work_items SET merged_commit = %s RETURNING id", "0" * 40)
    cli("import", ".", "--yes")
    assert "- [x] T003" not in (yard.repo / TASKS).read_text(), "not on main: not ticked"


@pytest.mark.req("X15.3")
def test_what_a_person_changed_in_the_source_is_left_and_noted(yard: Yard, cli: Cli) -> None:
    laid(yard, "spec-kit")
    cli("import", ".", "--yes")
    landed(yard, "001-csv.US1")
    text = (yard.repo / TASKS).read_text().replace(LINE, LINE.replace("reader", "writer"))
    (yard.repo / TASKS).write_text(text)
    [told] = Ticking(yard.tools()).look()
    assert told.left == ("T004 (Implement reader in src/io/csv.py (depends on T002, T003)) is not there any more",)
    assert (yard.repo / TASKS).read_text() == text.replace("- [ ] T003", "- [x] T003")


@pytest.mark.req("X15.3")
def test_a_source_that_is_away_or_read_only_or_a_link_waits(yard: Yard, cli: Cli, tmp_path: Path) -> None:
    laid(yard, "spec-kit")
    cli("import", ".", "--yes")
    landed(yard, "001-csv.US1")
    file, ticking = yard.repo / TASKS, Ticking(yard.tools())
    elsewhere = tmp_path / "elsewhere.md"
    file.rename(elsewhere)
    assert ticking.look() == []
    file.symlink_to(elsewhere)
    assert ticking.look() == [] and "- [x] T003" not in elsewhere.read_text()
    file.unlink()
    elsewhere.rename(file)
    file.chmod(0o600)
    assert len(ticking.look()) == 1
    assert "- [x] T003" in file.read_text() and file.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("X15.3")
def test_a_source_outside_of_the_repository_is_imported_and_never_written(yard: Yard, cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "plans"
    for name, text in SPEC_KIT.items():
        path = outside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert cli("import", str(outside), "--yes").code == 0
    landed(yard, "001-csv.US1")
    [told] = Ticking(yard.tools()).look()
    assert "outside of the repository" in told.left[0]
    assert (outside / TASKS).read_text() == SPEC_KIT[TASKS]


@pytest.mark.req("X15.1")
def test_an_edit_is_shown_and_applied_only_to_what_has_not_begun(yard: Yard, cli: Cli) -> None:
    laid(yard, "spec-kit")
    cli("import", ".", "--yes")
    spec = yard.repo / "specs/imported/001-csv.US1.md"
    was = spec.read_bytes()
    edited = SPEC_KIT["specs/001-csv/spec.md"].replace("its rows come out", "its rows come out in order")
    yard.write({"specs/001-csv/spec.md": edited})
    looked = cli("import", ".", "--dry-run")
    assert looked.code == 0 and "come out in order" in looked.out and spec.read_bytes() == was
    assert cli("import", ".", "--yes").code == 0
    assert b"come out in order" in bytes(yard.item("001-csv.US1")["spec"]) == spec.read_bytes()

    yard.query("UPDATE work_items SET claims = 1 RETURNING id")
    yard.write({"specs/001-csv/spec.md": SPEC_KIT["specs/001-csv/spec.md"]})
    before, held = everything(yard), spec.read_bytes()
    told = cli("import", ".", "--yes")
    assert told.code == 0 and "left as it is" in told.out and "it has begun" in told.error
    assert everything(yard) == before and spec.read_bytes() == held


@pytest.mark.req("X15.1")
def test_a_persons_file_is_never_written_over_and_nothing_is_half_done(yard: Yard, cli: Cli) -> None:
    laid(yard, "spec-kit")
    yard.write({"specs/imported/001-csv.US1.md": "mine\n"})
    before = everything(yard)
    ran = cli("import", ".", "--yes")
    assert ran.code == 2 and "it is yours" in ran.error and everything(yard) == before
    assert os.listdir(yard.repo / "specs/imported") == ["001-csv.US1.md"]
    assert (
        cli("import", ".", "--yes", "--into", "planned").code == 0 and (yard.repo / "planned/001-csv.US1.md").exists()
    )


@pytest.mark.req("X15.1")
def test_a_circle_is_refused_by_name_and_leaves_no_file(yard: Yard, cli: Cli) -> None:
    tasks = '[{"id": 1, "title": "a", "dependencies": [2]}, {"id": 2, "title": "b", "dependencies": [1]}]'
    yard.write({".taskmaster/tasks/tasks.json": f'{{"tasks": {tasks}}}'})
    before = everything(yard)
    ran = cli("import", ".", "--yes")
    assert ran.code == 2 and "in a circle: tm-1 → tm-2 → tm-1" in ran.error
    assert everything(yard) == before and not (yard.repo / "specs").exists()


@pytest.mark.req("X15.1")
def test_without_a_terminal_somebody_must_say_yes(yard: Yard, cli: Cli) -> None:
    laid(yard, "spec-kit")
    before = everything(yard)
    ran = cli("import", ".")
    assert ran.code == 2 and "--yes" in ran.error and everything(yard) == before
    looked = cli("import", ".", "--dry-run", "--json")
    assert looked.code == 0 and everything(yard) == before and not (yard.repo / "specs/imported").exists()
    stories = {one["story"]: one for one in looked.json["stories"]}
    assert stories["001-csv.phase-1"]["fate"] == "done" and stories["001-csv.US1"]["phase"] == "build"
    assert stories["001-csv.phase-2"]["lacks"] == ["a test file in the scope", "requirements"]


@pytest.mark.req("X15.3")
def test_what_an_agent_may_not_write_is_no_scope(yard: Yard, cli: Cli) -> None:
    """A path out of the repository, settings, and the source itself, which would let an agent tick its own box."""
    files = '[{"path": "../../x"}, {"path": "damascus.toml"}, {"path": ".taskmaster/"}, {"path": "src/a.py"}]'
    tasks = f'{{"tasks": [{{"id": 1, "title": "a", "relevantFiles": {files}}}]}}'
    yard.write({".taskmaster/tasks/tasks.json": tasks})
    [one] = cli("import", ".", "--dry-run", "--json").json["stories"]
    assert one["scope"] == ["src/a.py"]
    assert [lack for lack in one["lacks"] if "instead of" in lack] == [
        "a path instead of ../../x", "a path instead of damascus.toml", "a path instead of .taskmaster/",
    ]  # fmt: skip


@pytest.mark.req("X15.1")
def test_a_folder_of_no_format_or_of_two_and_a_file_that_is_too_large(yard: Yard, cli: Cli) -> None:
    ran = cli("import", ".")
    assert ran.code == 2 and all(kind in ran.error for kind in SAMPLES) and "--from" in ran.error
    for kind in ("spec-kit", "kiro"):
        laid(yard, kind)
    ran = cli("import", ".")
    assert ran.code == 2 and "spec-kit and kiro" in ran.error
    assert cli("import", ".", "--from", "kiro", "--dry-run").code == 0
    assert cli("import", ".", "--from", "jira").code == 2 and cli("import", "nowhere").code == 2
    yard.write({"big.jsonl": '{"id":"a","title":"t"}\n' * 500_000})
    ran = cli("import", "big.jsonl")
    assert ran.code == 2 and "more than 8.0 MB to read" in ran.error
    os.mkfifo(yard.repo / "pipe")
    assert cli("import", "pipe").code == 2
    (yard.repo / "loop").symlink_to("loop")
    assert cli("import", "loop").code == 2


@pytest.mark.req("X15.1")
def test_a_single_file_wherever_it_lies(yard: Yard, cli: Cli) -> None:
    yard.write({"export.jsonl": SAMPLES["beads"][".beads/issues.jsonl"], "plan/tasks.md": SPEC_KIT[TASKS]})
    yard.write({"plan/spec.md": SPEC_KIT["specs/001-csv/spec.md"]})
    assert cli("import", "export.jsonl", "--yes").code == 0 and yard.item("bd-a1")["phase"] == "build"
    assert cli("import", "plan/tasks.md").code == 2, "a tasks.md may be of several formats"
    assert cli("import", "plan/tasks.md", "--from", "spec-kit", "--yes").code == 0
    assert yard.item("plan.US1")["phase"] == "build"


@pytest.mark.req("X15.1")
def test_a_task_graph_in_the_place_of_specs(yard: Yard, cli: Cli) -> None:
    tasks = SAMPLES["taskmaster"][".taskmaster/tasks/tasks.json"].replace('"1.2", "2.1"', '"1.2"')
    yard.write({".taskmaster/tasks/tasks.json": tasks})
    before = everything(yard)
    ran = cli("import", ".", "--graph", "TASK-GRAPH.md")
    assert ran.code == 0 and "1 task" in ran.out and everything(yard) == before
    assert cli("tasks", "check", "TASK-GRAPH.md").code == 0
    assert cli("import", ".", "--graph", "TASK-GRAPH.md").code == 2


READS = """
pathlib.Path("src/io").mkdir(parents=True, exist_ok=True)
pathlib.Path("tests").mkdir(exist_ok=True)
pathlib.Path("src/io/reader.py").write_text("def rows(text):\\n    return text.split()\\n")
pathlib.Path("tests/test_csv.py").write_text(
    "import sys\\nsys.path.insert(0, 'src/io')\\nfrom reader import rows\\n\\n\\n"
    "def test_REQ_001_rows():\\n    assert rows('a b') == ['a', 'b']\\n\\n\\n"
    "def test_REQ_002_comma():\\n    assert rows('a,b') == ['a,b']\\n")
"""


@pytest.mark.req("X15.3")
def test_a_worker_ticks_what_it_brought_to_main(yard: Yard, cli: Cli) -> None:
    text = SPEC_KIT[TASKS].replace("- [ ] T002", "- [x] T002").replace("src/io/csv.py", "src/io/reader.py")
    yard.write(SPEC_KIT | {TASKS: text})
    assert cli("import", ".", "--yes").code == 0
    yard.work(yard.agent(READS))
    assert yard.item("001-csv.US1")["phase"] == "done", yard.item("001-csv.US1")["last_feedback"]
    assert (yard.repo / TASKS).read_text() == text.replace("- [ ] T003", "- [x] T003").replace(
        "- [ ] T004", "- [x] T004"
    )
