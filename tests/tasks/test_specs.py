"""A task becomes a spec: complete, strict, the same bytes each time, whatever words a person wrote."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain.ids import StoryId
from damascus.domain.spec import parse_spec
from damascus.domain.tasks import ContractKind, TaskType, TestContract
from damascus.domain.verdict import Kind
from damascus.stacks.stack import BaseFiles
from damascus.tasks.differences import differences
from damascus.tasks.specs import parsed, spec_of
from damascus.tasks.task import Fault, Task
from damascus.tasks.task_commands import TestGround, command_of

pytestmark = pytest.mark.req("A1.1")
TC1 = TestContract("TC-1", "a quoted comma stays", ContractKind.UNIT, "tests/test_csv.py")
TC2 = TestContract("TC-2", "a file is read", ContractKind.INTEGRATION, "tests/test_file.py")
TASK = Task(
    StoryId("TASK-002"),
    "Read CSV",
    12,
    type=TaskType.DATA,
    platform="web",
    domain="io",
    depends_on=(StoryId("TASK-001"),),
    output_files=("src/csv.py", "tests/test_csv.py"),
    criteria=("A quoted comma stays.", "an empty file is no error", "see TC-2"),
    contracts=(TC1, TC2),
    gate_commands=("make lint", "make types"),
)


def ground(*listing: str, prepared: str = "", package: str = "", **suite: str) -> TestGround:
    texts = {"package.json": package.encode()} if package else {}
    return TestGround(BaseFiles({*listing, *texts}, texts.get, prepared), **suite)


def commanded(task: Task, where: TestGround) -> str:
    told = command_of(task, where)
    assert isinstance(told, str), told
    return told


def of_files(*files: str) -> Task:
    return replace(TASK, contracts=tuple(replace(TC1, id=f"TC-{n}", file=file) for n, file in enumerate(files, 1)))


def test_a_spec_has_all_that_the_task_says() -> None:
    spec = parse_spec(spec_of(TASK, "TASK-GRAPH.md", "python3 -m pytest -q tests/test_csv.py"))
    assert (spec.story, spec.title, spec.kind, spec.task_type) == ("TASK-002", "Read CSV", Kind.FEATURE, TaskType.DATA)
    assert (spec.platform, spec.domain, spec.graph, spec.depends_on) == ("web", "io", "TASK-GRAPH.md", ("TASK-001",))
    assert spec.scope and spec.scope.patterns == ("src/csv.py", "tests/test_csv.py", "tests/test_file.py")
    assert [(need.id, need.text) for need in spec.requirements] == [
        ("REQ-001", "a quoted comma stays"),
        ("REQ-002", "a file is read"),
        ("REQ-003", "an empty file is no error"),
    ]
    assert (spec.contracts, spec.gate_commands) == (TASK.contracts, TASK.gate_commands)
    assert spec.test_command == "python3 -m pytest -q tests/test_csv.py"
    assert "tests/test_file.py: TC-2 by REQ-002, integration" in spec.tdd_plan


SAYS_MORE = (
    "TC-1: the password must be stored hashed, never in plain text",
    "a login locks after 5 tries (beyond TC-1)",
    "TC-2 holds for large files",
    "TC-1: a file is read",
    "stays a quoted comma",
    "TC-1 does not pass",
    "TC-9",
)
SAYS_NOTHING_MORE = ("TC-1", "see TC-1", "See TC-1 and TC-2.", "by tc-2", "TC-1: a quoted comma stays", "a FILE is")


@pytest.mark.parametrize("criterion", SAYS_MORE)
def test_a_criterion_that_says_more_than_the_row_it_names_is_a_requirement(criterion: str) -> None:
    spec = parse_spec(spec_of(replace(TASK, criteria=(criterion,)), "TASK-GRAPH.md", "x"))
    assert [need.text for need in spec.requirements][2:] == [criterion]
    edited = parsed(replace(TASK, criteria=(f"{criterion}, or more",)), "TASK-GRAPH.md", "x")
    assert differences(spec, edited) == ["acceptance criteria"]


@pytest.mark.parametrize("criterion", SAYS_NOTHING_MORE)
def test_a_criterion_that_only_points_at_a_row_or_repeats_it_is_none(criterion: str) -> None:
    assert len(parse_spec(spec_of(replace(TASK, criteria=(criterion,)), "TASK-GRAPH.md", "x")).requirements) == 2


@pytest.mark.parametrize(
    ("files", "kind"), [(("docs/a.md", "README"), Kind.DOCS), (("docs/a.md", "src/a.py"), Kind.REFACTOR)]
)
def test_an_exempt_task_is_words_or_a_refactoring_and_says_why(files: tuple[str, ...], kind: Kind) -> None:
    task = replace(TASK, contracts=(), exempt="words only", output_files=files)
    spec = parse_spec(spec_of(task, "TASK-GRAPH.md", "make test"))
    assert (spec.kind, spec.contract_exempt, spec.contracts) == (kind, "words only", ())
    assert [need.id for need in spec.requirements] == ["REQ-001", "REQ-002", "REQ-003"]


def test_a_line_of_the_contract_is_due_though_its_words_look_like_a_tag() -> None:
    spec = parse_spec(spec_of(replace(TASK, contracts=(replace(TC1, behaviour="leaves out (SKIP) lines"),)), "G", "x"))
    assert spec.requirements[0].tag == "MVP"


words = st.text(st.characters(codec="utf-8", exclude_characters="\x00\n\r"), min_size=1, max_size=40)
seen = words.filter(lambda text: bool(text.strip()) and text.isprintable())


@given(words.map(lambda text: f"x{text}"), seen, seen, st.lists(seen, max_size=3))
def test_hostile_words_stay_words(title: str, platform: str, behaviour: str, criteria: list[str]) -> None:
    """Whatever YAML or Markdown would make of them."""
    contract = replace(TC1, behaviour=behaviour.strip().replace("\\", "/") or "x")
    task = replace(TASK, title=title, platform=f"p{platform}", criteria=tuple(criteria), contracts=(contract,))
    raw = spec_of(task, "TASK-GRAPH.md", "make test")
    assert raw == spec_of(task, "TASK-GRAPH.md", "make test")
    spec = parse_spec(raw)
    assert spec == parsed(task, "TASK-GRAPH.md", "make test")
    assert spec.title == " ".join(title.split()) and spec.platform == " ".join(task.platform.split())
    assert spec.contracts == (contract,) and spec.story == TASK.id and spec.gate_commands == TASK.gate_commands
    assert spec.test_command == "make test"


# ── which command ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("files", "where", "command"),
    [
        (("tests/test_a.py", "tests/test_b.py"), ground(), "python3 -m pytest -q tests/test_a.py tests/test_b.py"),
        (("tests/test a.py",), ground(prepared="uv run pytest -x tests\n"), "uv run pytest -q 'tests/test a.py'"),
        (("t/test_a.py",), ground(prepared=".venv/bin/python -m pytest"), ".venv/bin/python -m pytest -q t/test_a.py"),
        (("t/test_a.py",), ground(prepared="python -m unittest discover"), "python -m unittest t/test_a.py"),
        (("t/test_a.py",), ground(prepared="cd x && pytest\nv/bin/pip"), "v/bin/python -m pytest -q t/test_a.py"),
        (("a.test.js",), ground("package.json"), "node --test a.test.js"),
        (("a.test.ts",), ground("vitest.config.ts"), "npx vitest run a.test.ts"),
        (("a.test.ts",), ground(package='{"devDependencies": {"jest": "*"}}'), "npx jest --ci a.test.ts"),
        (("w/a.test.tsx",), ground("w/package.json", "w/vitest.config.ts"), "(cd w && npx vitest run a.test.tsx)"),
        (("a_test.go", "io/b_test.go"), ground("go.mod"), "go test -v . ./io"),
        (("svc/io/b_test.go",), ground("svc/go.mod"), "go -C svc test -v ./io"),
        (("tests/api.rs",), ground("Cargo.toml"), "cargo test --test api"),
        (("core/src/lib.rs",), ground("core/Cargo.toml"), "cargo test --manifest-path core/Cargo.toml"),
    ],
)  # fmt: skip
def test_the_command_is_told_by_the_files_and_the_project(
    files: tuple[str, ...], where: TestGround, command: str
) -> None:
    assert commanded(of_files(*files), where) == command


def test_the_contracts_own_command_comes_first() -> None:
    own = replace(TC1, command="make csv; make more")
    task = replace(TASK, contracts=(own, TC2, replace(TC1, id="TC-3", command="make csv; make more")))
    told = commanded(task, ground()).splitlines()
    assert told == [
        "failed=0", "(", "make csv; make more", ") || failed=$?",
        "python3 -m pytest -q tests/test_file.py || failed=$?", "exit $failed",
    ]  # fmt: skip
    assert commanded(replace(TASK, contracts=(own,)), ground()) == "make csv; make more"


@pytest.mark.parametrize(
    ("first", "second", "code"), [("true", "true", 0), ("exit 3", "true", 3), ("true", "false", 1)]
)
def test_of_several_commands_each_is_run(tmp_path: Path, first: str, second: str, code: int) -> None:
    """The red run must see every test fail, not only those of the first command."""
    contracts = (replace(TC1, command=first + "; "), replace(TC2, command=f"touch here; {second}"))
    command = commanded(replace(TASK, contracts=contracts), ground())
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == code
    assert (tmp_path / "here").exists()


def test_what_nobody_can_tell_is_a_fault_with_its_line() -> None:
    odd = replace(TASK, contracts=(replace(TC1, file="tests/a.feature"),), places={("contract", "TC-1"): 20})
    for task in (odd, of_files("web/a.test.tsx")):
        told = command_of(task, ground())
        assert isinstance(told, Fault) and "nobody can tell which command runs" in told.text and told.line >= 12


def test_an_exempt_task_has_the_projects_command() -> None:
    task = replace(TASK, contracts=(), exempt="words", depends_on=())
    assert commanded(task, ground(suite="make test")) == "make test"
    told = command_of(task, ground(suite_later="python3 -m pytest -q"))
    assert isinstance(told, Fault) and "[test] command" in told.text
    assert commanded(replace(task, depends_on=TASK.depends_on), ground(suite_later="pytest")) == "pytest"
