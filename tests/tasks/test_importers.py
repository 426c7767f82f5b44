"""The formats that work comes in from, read without any file or queue: samples, traps, ticks, hostile bytes (X15)."""

import json
import random
import time
from contextlib import suppress

import pytest

from damascus.domain.errors import UsageError
from damascus.domain.ids import StoryId, story_id
from damascus.domain.spec import Spec, parse_spec
from damascus.tasks.check import check_graph
from damascus.tasks.graph import read_graph
from damascus.tasks.importers import IMPORTERS, detected
from damascus.tasks.importers.graphs import graph_text
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.planning import Decided, Fate, ImportedBefore, decided
from damascus.tasks.importers.record import Box, Imported
from damascus.tasks.importers.story_specs import (
    Drafted,
    ImportSource,
    boxes_of,
    mark_of,
    questions_in,
    spec_text,
    story_names,
)
from tests.tasks.import_samples import QUEUED, SAMPLES, SPEC_KIT, TASKMASTER, TICKED, WHOLE

NOBODY = ImportedBefore(frozenset(), {})
FORMATS = list(SAMPLES)


def raw(files: dict[str, str]) -> dict[str, bytes]:
    """As the files are found: only those that the format wants."""
    return {name: text.encode() for name, text in files.items()}


def wanted(kind: str, files: dict[str, str] | None = None) -> dict[str, bytes]:
    return {name: text for name, text in raw(files or SAMPLES[kind]).items() if IMPORTERS[kind].wants(name)}


def records(kind: str, files: dict[str, str] | None = None) -> list[Imported]:
    return IMPORTERS[kind].read(wanted(kind, files))


def plan(kind: str, files: dict[str, str] | None = None) -> list[Decided]:
    return decided(kind, records(kind, files), NOBODY)


def drafted(kind: str, each: Decided) -> Drafted:
    return Drafted(each.one, kind, each.story, each.depends_on, each.one.scope, "pytest -q")


def spec_of(kind: str, story: str, files: dict[str, str] | None = None) -> Spec:
    each = next(one for one in plan(kind, files) if one.story == story)
    draft = drafted(kind, each)
    return parse_spec(spec_text(draft), story, rough=bool(draft.lacks))


@pytest.mark.req("X15.1")
@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_is_detected_by_its_files_alone(kind: str) -> None:
    assert [one.name for one in detected(list(SAMPLES[kind]))] == [kind]
    below = [f"/somewhere/else/{name}" for name in SAMPLES[kind]]
    assert [one.name for one in detected(below)] == [kind]


@pytest.mark.req("X15.1")
@pytest.mark.parametrize("kind", FORMATS)
def test_each_sample_gives_its_stories_with_their_order(kind: str) -> None:
    new = [each for each in plan(kind) if each.fate is Fate.NEW]
    assert {each.story: list(each.depends_on) for each in new} == QUEUED[kind]
    assert all(story_id(each.story) for each in new)


@pytest.mark.req("X15.1")
@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_whole_parses_strictly_and_the_rest_as_rough(kind: str) -> None:
    whole = []
    for each in plan(kind):
        draft = drafted(kind, each)
        spec = parse_spec(spec_text(draft), each.story, rough=bool(draft.lacks))
        source = ImportSource.of(spec)
        assert source is not None and (source.format, source.file, source.key) == (kind, each.one.file, each.one.key)
        assert boxes_of(spec) == each.one.boxes and mark_of(spec) == each.one.mark
        assert bool(draft.lacks) == bool(spec.missing())
        whole += [] if draft.lacks or each.fate is not Fate.NEW else [each.story]
    assert whole == [WHOLE[kind]]


@pytest.mark.req("X15.3")
@pytest.mark.parametrize("kind", FORMATS)
def test_exactly_the_boxes_of_a_story_are_ticked_and_a_second_time_nothing(kind: str) -> None:
    one = next(each.one for each in plan(kind) if each.story == WHOLE[kind])
    before = wanted(kind)[one.file]
    expected = before.decode()
    for old, new in TICKED[kind]:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    told = IMPORTERS[kind].ticked(before, one.boxes)
    assert told.raw.decode() == expected
    assert told.left == (() if IMPORTERS[kind].writes else ("run: bd close bd-a1",))
    assert IMPORTERS[kind].ticked(told.raw, one.boxes).raw == told.raw


@pytest.mark.req("X15.3")
@pytest.mark.parametrize("kind", [kind for kind in FORMATS if IMPORTERS[kind].writes])
def test_ticking_keeps_other_bytes_whatever_they_are(kind: str) -> None:
    """CRLF, a BOM, bytes that are no UTF-8 in a line of prose: every byte but the mark stays."""
    one = next(each.one for each in plan(kind) if each.story == WHOLE[kind])
    before = b"\xef\xbb\xbf" + wanted(kind)[one.file].replace(b"\n", b"\r\n")
    if kind != "taskmaster":
        before += b"\r\nprose \xff\xfe\r\n"
    if kind == "backlog":
        before = before.removeprefix(b"\xef\xbb\xbf")
    after = IMPORTERS[kind].ticked(before, one.boxes)
    assert not after.left and after.raw != before
    if kind not in ("taskmaster", "backlog"):
        changed = [n for n in range(len(before)) if before[n] != after.raw[n]]
        assert len(after.raw) == len(before) and all(after.raw[n : n + 1] == b"x" for n in changed)


@pytest.mark.req("X15.3")
@pytest.mark.parametrize("kind", [kind for kind in FORMATS if IMPORTERS[kind].writes])
def test_a_box_that_says_something_else_now_is_left_and_told(kind: str) -> None:
    one = next(each.one for each in plan(kind) if each.story == WHOLE[kind])
    other = tuple(Box(box.id, f"{box.text} and more") for box in one.boxes if box.id != "status")
    told = IMPORTERS[kind].ticked(wanted(kind)[one.file], other)
    assert told.raw == wanted(kind)[one.file] and len(told.left) == len(other)
    assert all("not there any more" in left for left in told.left)


# ── the traps of each ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X15.1")
def test_spec_kit_a_user_story_is_one_story_with_its_scenarios_and_requirements() -> None:
    spec = spec_of("spec-kit", "001-csv.US1")
    assert [need.text for need in spec.requirements] == [
        "Given a file, When it is read, Then its rows come out",
        "System MUST keep a quoted comma in its field [SKIP] [FR-001]",
    ]
    assert {need.tag for need in spec.requirements} == {"MVP"}, "somebody's (SKIP) takes no requirement away"
    assert spec.scope is not None and spec.scope.patterns == ("tests/test_csv.py", "src/io/csv.py")
    assert spec.priority == 1 and spec.title == "Read a file"
    assert [box.id for box in boxes_of(spec)] == ["T003", "T004"]


@pytest.mark.req("X15.1")
def test_spec_kit_what_needs_clarification_is_a_question_and_no_requirement() -> None:
    text = (
        SPEC_KIT["specs/001-csv/spec.md"] + "- **FR-002**: System MUST read [NEEDS CLARIFICATION: which encodings?]\n"
    )
    spec = spec_of("spec-kit", "001-csv.US1", SPEC_KIT | {"specs/001-csv/spec.md": text})
    assert questions_in(spec) == ["- FR-002: System MUST read … which encodings?"]
    assert not any("FR-002" in need.text for need in spec.requirements) and spec.missing()


@pytest.mark.req("X15.1")
def test_spec_kit_a_requirement_that_no_story_names_is_not_lost() -> None:
    """With two user stories nobody knows whose it is: both lack that, so that a person says it. A last phase of no
    user story, which waits for all, takes it."""
    second = "\n## Phase 4: User Story 2 - Write a file (Priority: P2)\n\n- [ ] T005 [US2] Write in src/io/out.py\n"
    two = SPEC_KIT | {"specs/001-csv/tasks.md": SPEC_KIT["specs/001-csv/tasks.md"] + second}
    stories = {each.story: each for each in plan("spec-kit", two)}
    assert all("a home for FR-001" in drafted("spec-kit", stories[f"001-csv.US{n}"]).lacks for n in (1, 2))
    polish = "\n## Phase 5: Polish\n\n- [ ] T006 Docs in docs/csv.md\n"
    last = two | {"specs/001-csv/tasks.md": two["specs/001-csv/tasks.md"] + polish}
    stories = {each.story: each for each in plan("spec-kit", last)}
    assert stories[StoryId("001-csv.phase-5")].depends_on == ("001-csv.phase-2", "001-csv.US1", "001-csv.US2")
    assert stories[StoryId("001-csv.phase-5")].one.criteria == (
        "System MUST keep a quoted comma in its field (SKIP) [FR-001]",
    )


@pytest.mark.req("X15.3")
def test_spec_kit_ticks_of_our_own_do_not_move_a_requirement() -> None:
    """What is done in the source changes nothing of what the others say: else each landing would look like an edit."""
    whole = {each.story: each.one.mark for each in plan("spec-kit")}
    text = SPEC_KIT["specs/001-csv/tasks.md"].replace("- [ ] T00", "- [x] T00")
    assert {
        each.story: each.one.mark for each in plan("spec-kit", SPEC_KIT | {"specs/001-csv/tasks.md": text})
    } == whole


@pytest.mark.req("X15.1")
def test_taskmaster_the_older_shape_and_tags() -> None:
    legacy = json.dumps({"tasks": [{"id": 1, "title": "One"}, {"id": "2", "title": "Two", "dependencies": ["1"]}]})
    found = plan("taskmaster", {"tasks/tasks.json": legacy})
    assert {each.story: each.depends_on for each in found} == {"tm-1": (), "tm-2": ("tm-1",)}
    other = next(each for each in plan("taskmaster") if each.story == "tm-other-1")
    raw_file = wanted("taskmaster")[other.one.file]
    told = IMPORTERS["taskmaster"].ticked(raw_file, other.one.boxes)
    assert json.loads(told.raw)["master"] == json.loads(raw_file)["master"], "other tags stay as they are"
    assert json.loads(told.raw)["other"]["tasks"][0]["status"] == "done"


@pytest.mark.req("X15.1")
def test_taskmaster_what_is_deferred_holds_back_who_waits_for_it() -> None:
    told = json.loads(TASKMASTER[".taskmaster/tasks/tasks.json"])
    told["master"]["tasks"][1]["dependencies"] = [4]
    found = {each.story: each for each in plan("taskmaster", {".taskmaster/tasks/tasks.json": json.dumps(told)})}
    assert {story for story, each in found.items() if each.fate is Fate.SKIPPED} == {"tm-1", "tm-2", "tm-4"}
    assert found[StoryId("tm-2")].why == "it waits for master/4, which is not queued"


@pytest.mark.req("X15.1")
def test_a_dependency_that_is_nowhere_makes_a_story_rough() -> None:
    told = json.loads(TASKMASTER[".taskmaster/tasks/tasks.json"])
    told["master"]["tasks"][0]["dependencies"] = [77]
    found = {each.story: each for each in plan("taskmaster", {".taskmaster/tasks/tasks.json": json.dumps(told)})}
    assert "master/77, on which it depends" in drafted("taskmaster", found[StoryId("tm-1")]).lacks


@pytest.mark.req("X15.1")
def test_beads_wrapped_exports_are_read_and_nothing_is_written() -> None:
    lines = SAMPLES["beads"][".beads/issues.jsonl"].splitlines()
    wrapped = json.dumps({"schema_version": 1, "data": [json.loads(each) for each in lines]})
    assert records("beads", {".beads/issues.jsonl": wrapped}) == records("beads")
    one = next(each for each in records("beads") if each.key == "bd-a1")
    assert one.criteria == ("a quoted comma stays", "an empty file has no rows") and one.priority == 3


@pytest.mark.req("X15.1")
def test_openspec_words_of_a_proposal_are_no_part_of_the_spec() -> None:
    """A heading with a command in somebody's prose is prose."""
    spec = spec_of("openspec", "add-csv.2")
    assert spec.test_command == "pytest -q" and "rm -rf" in spec.body
    assert [need.text for need in spec.requirements] == [
        "Reading, Quoted: WHEN a field is quoted THEN its comma stays",
        "Guessing is removed",
    ]


@pytest.mark.req("X15.1")
def test_kiro_what_is_optional_is_left_and_order_gives_way_to_words() -> None:
    found = {each.story: each for each in plan("kiro")}
    assert found[StoryId("csv.1-2")].fate is Fate.SKIPPED and "optional" in found[StoryId("csv.1-2")].why
    assert found[StoryId("csv.1-3")].fate is Fate.DONE
    spec = spec_of("kiro", "csv.1-1")
    assert [need.text for need in spec.requirements] == [
        "When a field is quoted, the reader shall keep its comma",
        "When a file is empty, the reader shall give no rows",
    ]


# ── ids ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X15.1")
@pytest.mark.parametrize(
    "name", ["../../x", "a/b", "x" * 300, "日本", "", ".", "-rf", "CON.lock", "a..b", "\x1b[31m", "a b", "é.é", "_x"]
)
def test_any_key_becomes_a_story_id_that_is_no_path(name: str) -> None:
    for made in story_names("beads", Imported("f", name, name, "t")):
        assert story_id(made) == made and "/" not in made and ".." not in made
    same = [story_names("beads", Imported("f", name, name, "t")) for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.req("X15.1")
def test_ids_that_differ_in_case_alone_or_are_taken_get_another_one() -> None:
    two = [Imported("f", f"{n}", name, "t") for n, name in enumerate(("Ab", "aB"))]
    assert len({each.story.lower() for each in decided("beads", two, NOBODY)}) == 2
    taken = decided("beads", two[:1], ImportedBefore(frozenset({"ab"}), {}))
    assert taken[0].story.lower() != "ab"


# ── hostile ───────────────────────────────────────────────────────────────────────────────────────────

LONG = "x" * 2_000_000
BAD = {
    "a list that is nested deeply": ("taskmaster", b"[" * 200_000),
    "objects that are nested deeply": ("taskmaster", b'{"tasks":' * 100_000),
    "no JSON": ("taskmaster", b"{"),
    "JSON of something else": ("taskmaster", b'{"a": 1}'),
    "a list of JSON": ("taskmaster", b"[]"),
    "a key twice": ("taskmaster", b'{"tasks": [], "tasks": []}'),
    "an id twice": ("taskmaster", b'{"tasks": [{"id": 1, "title": "a"}, {"id": "1", "title": "b"}]}'),
    "a task without title": ("taskmaster", b'{"tasks": [{"id": 1}]}'),
    "no UTF-8 in JSON": ("taskmaster", b'{"tasks": [{"id": 1, "title": "\xff"}]}'),
    "no issues": ("beads", b'{"a": 1}\n'),
    "an issue twice": ("beads", b'{"id":"a","title":"t"}\n{"id":"A","title":"t"}\n'),
    "no UTF-8": ("spec-kit", b"- [ ] T001 \xff\n"),
    "a NUL": ("spec-kit", b"- [ ] T001 a\0\n"),
    "a front matter of something else": ("backlog", b"---\n- a\n---\n"),
    "no front matter": ("backlog", b"hello\n"),
    "a billion laughs": ("backlog", b"---\na: &a [x,x]\nb: &b [*a,*a]\nid: [*b,*b\n---\n"),
    "a number twice": ("kiro", b"- [ ] 1. a\n- [ ] 1. b\n"),
    "a group twice": ("openspec", b"## 1. a\n- [ ] 1.1 x\n## 1. b\n- [ ] 1.2 x\n"),
}


@pytest.mark.req("X15.1")
@pytest.mark.parametrize("what", BAD)
def test_bad_bytes_are_refused_in_one_sentence(what: str) -> None:
    kind, text = BAD[what]
    name = next(name for name in SAMPLES[kind] if IMPORTERS[kind].main.search(name))
    with pytest.raises(UsageError) as refused:
        IMPORTERS[kind].read({name: text})
    assert name in str(refused.value) and len(str(refused.value)) < 600


@pytest.mark.req("X15.1")
@pytest.mark.parametrize("kind", FORMATS)
def test_millions_of_characters_are_read_in_linear_time(kind: str) -> None:
    """Long lines of whatever a pattern begins with, boxes by the ten thousand below one id each."""
    name = next(name for name in SAMPLES[kind] if IMPORTERS[kind].main.search(name))
    texts = [b"- [ ] " + each * 300_000 for each in (b" ", b"[", b"`", b"a/", b"(", b"1.", b"<!--", b"T1 [P] ")]
    texts += [b"#" + b" " * 500_000, b"---\n" + b"status:" + b" " * 500_000 + b"x\n---\n"]
    began = time.process_time()
    for text in texts:
        with suppress(UsageError):
            IMPORTERS[kind].read({name: text})
        IMPORTERS[kind].ticked(text, [Box("1", "x"), Box("status", "Done")])
    assert time.process_time() - began < 8


@pytest.mark.req("X15.3")
@pytest.mark.parametrize("kind", FORMATS)
def test_no_bytes_make_a_reader_or_a_tick_fail_otherwise(kind: str) -> None:
    """Samples with pieces cut, doubled, swapped and overwritten: a sentence or records, and never more than a tick."""
    seeded = random.Random(15)
    files = wanted(kind)
    boxes = [box for one in records(kind) for box in one.boxes]
    for _ in range(150):
        name = seeded.choice(sorted(files))
        text = bytearray(files[name])
        for _ in range(seeded.randint(1, 6)):
            at = seeded.randrange(len(text) + 1)
            piece = seeded.choice(
                [b"", b"\xff", b"\x00", b"\n", b"- [ ] ", b"---\n", b'"', b"{[", b"\xe2\x80\xae", b"1.1"]
            )
            text[at : at + seeded.randint(0, 12)] = piece
        try:
            for each in decided(kind, IMPORTERS[kind].read(files | {name: bytes(text)}), NOBODY):
                parse_spec(spec_text(drafted(kind, each)), each.story, rough=bool(drafted(kind, each).lacks))
        except UsageError:
            pass
        IMPORTERS[kind].ticked(bytes(text), boxes)


@pytest.mark.req("X15.1")
def test_what_nobody_sees_is_taken_out_of_titles_and_bodies() -> None:
    text = SPEC_KIT["specs/001-csv/tasks.md"].replace("Read a file", "Read\u202e a\x1b[31m file")
    each = next(
        one for one in plan("spec-kit", SPEC_KIT | {"specs/001-csv/tasks.md": text}) if one.story.endswith("US1")
    )
    assert each.one.title == "Read a[31m file"
    assert not any(bad in spec_text(drafted("spec-kit", each)).decode() for bad in ("\u202e", "\x1b"))


# ── paths and graphs ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Implement reader in src/io/csv.py (depends on T002)", ["src/io/csv.py"]),
        ("Create src/io/ and `tests/test_io.py`, then and/or TCP/IP.", ["tests/test_io.py", "src/io/"]),
        ("see https://example.org/a/b.html and `README.md`; v1.2", ["README.md"]),
        ("(src/a.ts), app/(group)/[id]/page.tsx", ["src/a.ts", "app/(group)/[id]/page.tsx"]),
    ],
)
def test_paths_are_found_in_prose(text: str, found: list[str]) -> None:
    assert paths_in(text) == found


@pytest.mark.req("X15.1")
def test_what_is_whole_can_be_a_task_graph() -> None:
    drafts = [drafted("taskmaster", each) for each in plan("taskmaster") if each.fate is Fate.NEW]
    assert "### TASK-" not in graph_text(drafts), "tm-1 waits for what is not whole"
    alone = [Drafted(one.one, one.kind, one.story, (), one.scope, one.command) for one in drafts]
    graph = read_graph(graph_text(alone).encode(), "TASK-GRAPH.md")
    assert [task.id for task in graph.tasks] == ["TASK-TM-1"] and check_graph(graph) == []
    assert graph.tasks[0].contracts[0].file == "tests/test_csv.py"
