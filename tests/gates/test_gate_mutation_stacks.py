"""Depth `full` in Node, Go and Rust: the real tool makes the mutants, whatever the tree says to it; ours runs them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from damascus.domain.spec import Requirement
from damascus.gates.mutation import Mutation
from damascus.stacks import REGISTRY
from damascus.stacks.mutants.lines import Wanted, mutants_told
from tests.gates.judging import Judging, verdicts
from tests.mutation_tools import need_tool
from tests.toolchains import need_program

FULL = '[test]\ncommand = "none"\n[gates]\nmutation = "full"\nmutation_seconds = 1500.0\n'


@dataclass(frozen=True)
class Project:
    """A weak test never asks for the edge; a strong one does."""

    tool: str
    needs: str
    command: str
    base: Mapping[str, str]
    code: Mapping[str, str]
    weak: Mapping[str, str]
    hostile: Mapping[str, str]
    edge: str


NODE_TEST = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { grade } = require('../src.js');\n"
    "test('REQ-001 grades', () => {\n  assert.equal(grade(95), 'high');\n  assert.equal(grade(4), 'low');\n});\n"
)
GO_TEST = (
    'package m\n\nimport "testing"\n\nfunc TestREQ_001(t *testing.T) {\n\tif Grade(95) != 2 || Grade(4) != 1 {\n'
    "\t\tt.Fatal()\n\t}\n}\n"
)
RUST_TEST = "#[test]\nfn req_001() {\n    assert_eq!((m::grade(95), m::grade(4)), (2, 1));\n}\n"
LOCK = 'version = 4\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n'
PROJECTS = {
    "node": Project(
        "stryker",
        "node",
        "node --test",
        {"package.json": '{"name": "m", "scripts": {"test": "node --test"}}\n'},
        {
            "src.js": "// Stryker disable all\nfunction grade(points) {\n  return points >= 90 ? 'high' : 'low';\n}\n"
            "module.exports = { grade };\n"
        },
        {"test/grade.test.js": NODE_TEST},
        {
            "stryker.conf.json": '{"mutate": ["!**/*"], "ignorers": ["all"]}\n',
            "babel.config.js": "require('fs').writeFileSync(process.env.DAMASCUS_TOOL + '/report.json', '{}');\n"
            "process.exit(0);\n",
        },
        "`points >= 90` → `points > 90`",
    ),
    "go": Project(
        "gremlins",
        "go",
        "go test ./...",
        {"go.mod": "module m\n\ngo 1.21\n"},
        {"m.go": "package m\n\nfunc Grade(points int) int {\n\tif points >= 90 {\n\t\treturn 2\n\t}\n\treturn 1\n}\n"},
        {"m_test.go": GO_TEST},
        {".gremlins.yaml": 'unleash:\n  exclude-files: [".*"]\n  conditionals-boundary:\n    enabled: false\n'},
        "CONDITIONALS_BOUNDARY: `>=` → `>`",
    ),
    "rust": Project(
        "cargo-mutants",
        "cargo",
        "cargo test",
        {"Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n', "Cargo.lock": LOCK},
        {
            "src/lib.rs": "#[cfg_attr(test, mutants::skip)]\npub fn grade(points: i32) -> i32 {\n"
            "    if points >= 90 { 2 + points / 100 } else { 1 }\n}\n"
        },
        {"tests/grade.rs": RUST_TEST},
        {".cargo/mutants.toml": 'exclude_globs = ["**"]\n'},
        "BinaryOperator: `+` → `-`",
    ),
}


def judge(tmp_path: Path, project: Project) -> GateResult:
    judging = Judging.of(tmp_path, {"README.md": "x\n", **project.base})
    files = {**project.code, **project.weak, **project.hostile}
    if project.needs == "cargo":  # only cargo-mutants knows this attribute, and it takes its words for what they say
        files["src/lib.rs"] = project.code["src/lib.rs"].replace("#[cfg_attr(test, mutants::skip)]\n", "")
    made = judging.candidate(files, command=project.command, config=FULL, scope=("**",))
    return Mutation(judging.runner).check(
        replace(made, spec=replace(made.spec, requirements=(Requirement("REQ-001", "grades"),)))
    )


@pytest.mark.req("F5.1")
@pytest.mark.parametrize("stack", PROJECTS)
def test_the_tool_makes_mutants_whatever_the_tree_says_to_it(
    stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = PROJECTS[stack]
    need_tool(project.tool, monkeypatch)
    result = judge(tmp_path, project)

    assert verdicts(result) == [], result
    assert not any("full" in one for one in result.unverified), result.unverified
    (edge,) = [one for one in result.survivors if project.edge in one.operator]
    assert edge.path in project.code and edge.requirements == ["REQ-001"] and edge.diff
    assert result.score is not None and result.score.killed and result.score.not_run == 0


@pytest.mark.req("F5.1")
def test_where_a_tool_is_not_there_nothing_is_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_program("node")
    result = judge(tmp_path, PROJECTS["node"])

    install = "npm install --save-dev @stryker-mutator/core@9.6.1"
    assert f"mutation: full: Stryker is not installed ({install}): src.js" in result.unverified, result.unverified
    assert result.score is not None and (result.score.total, result.survivors) == (0, [])


# ── reports, read by themselves ───────────────────────────────────────────────────────────────────────

GO_SOURCE = b"package m\n\nfunc f(a, b int) bool { return a >= b && -a < b }\n"
GO_PLACES = (
    b'.\t{"files":[{"file_name":"m.go","mutations":[{"type":"CONDITIONALS_BOUNDARY","status":"NOT COVERED","line":3,'
    b'"column":34},{"type":"INVERT_LOGICAL","line":3,"column":39,"status":"KILLED"},{"type":"NEW_ONE","line":3,'
    b'"column":39,"status":"LIVED"},{"type":"INVERT_NEGATIVES","line":99,"column":1,"status":"LIVED"}]}]}\n'
)


def told(stack: str, source: bytes, path: str, report: bytes) -> list[tuple[str, bytes]]:
    tool = REGISTRY[stack].mutation_tool
    assert tool is not None
    found, _ = mutants_told(tool(), Wanted({path: source}, {path: range(1, 50)}), report)
    return [(one.operator, source[: one.edit.start] + one.edit.text.encode() + source[one.edit.end :]) for one in found]


@pytest.mark.req("F5.1")
def test_a_place_that_gremlins_names_is_changed_by_its_own_table() -> None:
    boundary, logical = told("go", GO_SOURCE, "m.go", GO_PLACES)
    assert boundary == ("CONDITIONALS_BOUNDARY: `>=` → `>`", GO_SOURCE.replace(b">=", b">"))
    assert logical == ("INVERT_LOGICAL: `&&` → `||`", GO_SOURCE.replace(b"&&", b"||"))


@pytest.mark.req("F5.1")
def test_what_cargo_mutants_counts_in_characters_is_found_in_bytes() -> None:
    source = 'pub fn f(a: i32) -> i32 {\n    let _é = "ü"; a + 1\n}\n'.encode()
    span = '{"start": {"line": 2, "column": 21}, "end": {"line": 2, "column": 22}}'
    report = f'.\t[{{"file": "src/lib.rs", "span": {span}, "replacement": "-", "genre": "BinaryOperator"}}]\n'
    assert told("rust", source, "src/lib.rs", report.encode()) == [
        ("BinaryOperator: `+` → `-`", source.replace(b"a + 1", b"a - 1"))
    ]


@pytest.mark.req("F5.1")
@pytest.mark.parametrize("stack", ["node", "go", "rust"])
@pytest.mark.parametrize("report", [b"", b"{", b".\t{}x\n", b"\xff", b"[" * 100_000, b'.\t[{"file": 1}]\n'])
def test_a_report_that_is_none_is_told_and_never_empty(stack: str, report: bytes) -> None:
    with pytest.raises(ValueError):
        told(stack, GO_SOURCE, "m.go", report)


@pytest.mark.req("F5.1")
def test_an_attribute_that_keeps_cargo_mutants_away_is_made_harmless_in_place() -> None:
    tool = REGISTRY["rust"].mutation_tool
    assert tool is not None
    source = b"#[mutants::skip]\nfn a() {}\n#[cfg_attr(test, mutants::skip)]\nfn b() {}\n"
    made = tool().neutral(source)
    assert b"skip" not in made and len(made) == len(source)
    assert tool().without(".cargo/config.toml") and tool().without("rust-toolchain.toml")
