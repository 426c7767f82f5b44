"""Gate commands with the real linters, type checkers and compilers of the four stacks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from damascus.gates.commands import Commands
from tests.gates.judging import PYTEST, Content, Judging
from tests.node_runners import node_project
from tests.toolchains import need_program

pytestmark = pytest.mark.req("A6", "A17")

Files = Mapping[str, Content]
BESIDE = f"[test]\ncommand = {json.dumps(PYTEST)}\n"
"""Python's linters are looked for beside the interpreter of the tests."""


@dataclass(frozen=True)
class LintedProject:
    """By command, `bad` is a change that it refuses, `loosened` one with settings by which a story might get away."""

    base: Mapping[str, str]
    good: Files
    bad: Mapping[str, Files]
    loosened: Mapping[str, Files] = field(default_factory=dict)
    settings: str = ""
    needs: tuple[str, ...] = ()
    """Packages of npm."""

    def judging(self, folder: Path) -> Judging:
        return node_project(folder, self.base, needed=self.needs) if self.needs else Judging.of(folder, dict(self.base))

    def judged(self, judging: Judging, files: Files, only: str = "", **spec: object) -> GateResult:
        none = [f"{name} = 'none'\n" for name in self.bad if only and name != only]
        config = f"{self.settings}[gates.commands]\n{''.join(none)}"
        made = judging.candidate(files, config=config, **spec)  # type: ignore[arg-type]
        return Commands(judging.runner, judging.mirror).check(made)


RUFF = '[project]\nname = "a"\nversion = "1"\n[tool.ruff.lint]\nselect = ["F"]\n'
PYTHON = LintedProject(
    base={"pyproject.toml": RUFF, "mypy.ini": "[mypy]\nstrict = True\n", "one.py": "ONE: int = 1\n"},
    good={"m.py": "def add(a: int, b: int) -> int:\n    return a + b\n"},
    bad={"lint": {"m.py": "import os\n"}, "types": {"m.py": "def add(a, b):\n    return a + b\n"}},
    loosened={
        "lint": {"m.py": "import os\n", "pyproject.toml": RUFF + "exclude = ['m.py']\n"},
        "types": {"m.py": "def add(a, b):\n    return a + b\n", "mypy.ini": "[mypy]\n"},
    },
    settings=BESIDE,
)

STRICT = '{\n  // as strict as can be\n  "compilerOptions": {"strict": true, "noEmit": true, "types": []},\n}\n'
ESLINT = 'module.exports = [{rules: {"no-unused-vars": "error"}, files: ["**/*.js"]}];\n'
PACKAGE = {"scripts": {"lint": "eslint ."}, "devDependencies": {"eslint": "9", "typescript": "5"}}
LOOSE_TYPES = {"m.ts": "export function add(a, b) { return a + b; }\n"}
LOOSE_LINT = {"m.js": "const unused = 1;\n"}
NODE = LintedProject(
    base={
        "package.json": json.dumps(PACKAGE),
        "tsconfig.json": STRICT,
        "eslint.config.js": ESLINT,
        "one.ts": "export {};\n",
    },
    good={"m.ts": "export function add(a: number, b: number): number { return a + b; }\n"},
    bad={"lint": LOOSE_LINT, "types": LOOSE_TYPES},
    loosened={
        "lint": LOOSE_LINT | {"eslint.config.mjs": "export default [];\n"},
        "types": LOOSE_TYPES | {"tsconfig.json": STRICT.replace("true", "false")},
    },
    needs=("typescript", "eslint"),
)

GO = LintedProject(
    base={"go.mod": "module example.com/m\n\ngo 1.21\n", "one.go": "package m\n"},
    good={"m.go": "package m\n\nfunc Add(a, b int) int { return a + b }\n"},
    bad={
        "lint": {"m.go": 'package m\n\nimport "fmt"\n\nfunc Say() { fmt.Printf("%d\\n", "x") }\n'},
        "build": {"m.go": 'package m\n\nfunc Add(a, b int) int { return "a" }\n'},
    },
)

CARGO = '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n[lints.clippy]\nneedless_return = "deny"\n'
NEEDLESS = {"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    return a + b;\n}\n"}
RUST = LintedProject(
    base={"Cargo.toml": CARGO, "src/lib.rs": "pub const ONE: i32 = 1;\n", ".gitignore": "target\nCargo.lock\n"},
    good={"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"},
    bad={"lint": NEEDLESS, "build": {"src/lib.rs": 'pub fn add(a: i32) -> i32 {\n    "a"\n}\n'}},
    loosened={"lint": NEEDLESS | {"Cargo.toml": CARGO.replace("deny", "allow")}},
)

PROJECTS = {"python": PYTHON, "node": NODE, "go": GO, "rust": RUST}
PROGRAMS = {"node": "npm", "go": "go", "rust": "cargo"}


@pytest.fixture(scope="module", params=PROJECTS)
def stack(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name in PROGRAMS:
        need_program(PROGRAMS[name])
    return name


@pytest.fixture(scope="module")
def judging(stack: str, tmp_path_factory: pytest.TempPathFactory) -> Judging:
    return PROJECTS[stack].judging(tmp_path_factory.mktemp(stack))


def test_honest_work_passes_every_command_that_is_found(stack: str, judging: Judging) -> None:
    project = PROJECTS[stack]
    result = project.judged(judging, project.good)
    assert (result.findings, result.unverified) == ([], []), result.findings
    assert {each.gate for each in result.evidence} == set(project.bad)
    assert all("found from main's files" in each.summary for each in result.evidence)


def test_each_command_refuses_what_is_its_own(stack: str, judging: Judging) -> None:
    for gate, files in PROJECTS[stack].bad.items():
        (finding,) = PROJECTS[stack].judged(judging, files, gate).findings
        assert (finding.gate, finding.verdict.value) == (gate, "command_failed")


def test_no_settings_of_the_storys_own_make_it_pass(stack: str, judging: Judging) -> None:
    for gate, files in PROJECTS[stack].loosened.items():
        named = [path for path in files if path in ("pyproject.toml", "Cargo.toml", "tsconfig.json")]
        (finding,) = PROJECTS[stack].judged(judging, files, gate, scope=("src/", *named)).findings
        assert "by what main says in" in finding.message


def test_a_scope_that_names_a_linters_own_file_means_it(tmp_path: Path) -> None:
    judging = PYTHON.judging(tmp_path)
    files = {"m.py": "def add(a, b):\n    return a + b\n", "mypy.ini": "[mypy]\n"}
    assert PYTHON.judged(judging, files, "types", scope=("m.py", "mypy.ini")).findings == []


def test_remarks_in_the_code_are_ordinary(tmp_path: Path) -> None:
    """People see them in the diff; a linter that minds them says so itself."""
    judging = PYTHON.judging(tmp_path)
    assert PYTHON.judged(judging, {"m.py": "import os  # noqa: F401\n"}, "lint").findings == []


def test_what_typescript_compiles_to_may_change_with_the_code(tmp_path: Path) -> None:
    """Only what makes it strict is main's word."""
    need_program("npm")
    declared = "declare global { namespace JSX { interface IntrinsicElements { div: {} } } }\n"
    files = {
        "m.tsx": f"export const a = <div />;\n{declared}",
        "tsconfig.json": STRICT.replace('"types"', '"jsx": "preserve", "types"'),
    }
    judging = NODE.judging(tmp_path)
    assert NODE.judged(judging, files, "types", scope=("m.tsx", "tsconfig.json")).findings == []
