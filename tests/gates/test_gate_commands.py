"""Gate commands: the project's own lint, types and build, by the base's word alone."""

import json
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.gates.commands import Commands
from damascus.gates.weakened_tests import WeakenedTests
from tests.gates.judging import CODE, PYTHON, Content, Judging, verdicts
from tests.toolchains import need_program

pytestmark = pytest.mark.req("A6")

REFUSED = ["command_failed"]
BY_NPM = "node tools/lint.js"
LINTER = """\
const fs = require("fs");
const skip = fs.existsSync("lint.skip") ? fs.readFileSync("lint.skip", "utf8").split("\\n") : [];
const bad = fs.readdirSync(".").filter((name) => name.endsWith(".js") && !skip.includes(name))
  .filter((name) => fs.readFileSync(name, "utf8").includes("eval("));
for (const name of bad) console.log(`${name}:1: eval is evil`);
process.exit(bad.length ? 1 : 0);
"""
GOOD, BAD = {"a.js": "module.exports = 1;\n"}, {"a.js": "module.exports = eval('1');\n"}


def judge(judging: Judging, candidate: Candidate) -> GateResult:
    return Commands(judging.runner, judging.mirror).check(candidate)


def package(**parts: object) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": {"lint": BY_NPM}, **parts})}


def node(folder: Path, **more: str) -> Judging:
    need_program("npm")
    return Judging.of(folder, {**package(), "tools/lint.js": LINTER, **more})


# ── what a person wrote down ──────────────────────────────────────────────────────────────────────────


def test_every_command_of_the_base_must_exit_0(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    lint = f'lint = "test ! -e src.py || {PYTHON} -m py_compile src.py"'
    config = f'[gates.commands]\n{lint}\ntypes = "test ! -e src.py || (echo wrong type; exit 3)"\n"a/b" = "exit 127"'
    result = judge(judging, judging.candidate(CODE, config=config))
    assert [(finding.gate, finding.verdict.value) for finding in result.findings] == [
        ("types", "command_failed"),
        ("a/b", "command_failed"),
    ]
    assert "wrong type" in result.findings[0].output and "without the story: exit 0" in result.findings[0].message
    told = [(each.gate, each.exit_code) for each in result.evidence]
    assert told == [("lint", 0), ("types", 3), ("types on the base", 0), ("a/b", 127)]
    assert result.unverified == []


def test_a_command_that_runs_no_test_has_not_passed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    config = f'[gates.commands]\nslow = "test ! -e src.py || {PYTHON} -m pytest -q -k nothing tests; exit 0"'
    assert verdicts(judge(judging, judging.candidate(CODE, config=config))) == REFUSED


def test_what_is_red_on_main_too_is_listed_and_charged_to_nobody(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    result = judge(judging, judging.candidate(CODE, config="[gates.commands]\nlint = 'exit 3'\n"))
    assert result.findings == []
    assert result.unverified == ["lint: `exit 3` is red on main too: exit 3, tests not counted"]
    assert [(each.gate, each.exit_code) for each in result.evidence] == [("lint", 3), ("lint on the base", 3)]


@pytest.mark.parametrize("command", ["no-such-program .", "./README.md", "tail -f /dev/null"])
def test_a_command_of_a_person_that_does_not_come_to_an_end_is_never_a_pass(tmp_path: Path, command: str) -> None:
    """Though it is the same on main."""
    judging = Judging.of(tmp_path)
    config = f"[test]\ntimeout_seconds = 0.5\n[gates.commands]\nlint = '{command}'\n"
    result = judge(judging, judging.candidate(CODE, config=config))
    assert verdicts(result) == REFUSED and result.unverified == []


def test_a_command_that_only_the_story_can_start_is_its_own(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    config = "[gates.commands]\nlint = 'test -e src.py || exit 127; exit 1'\n"
    assert verdicts(judge(judging, judging.candidate(CODE, config=config))) == REFUSED


def test_none_is_told(tmp_path: Path) -> None:
    judging = node(tmp_path)
    result = judge(judging, judging.candidate(BAD, config="[gates.commands]\nlint = 'none'\n"))
    assert (result.findings, result.evidence) == ([], [])
    assert result.unverified == ["lint: damascus.toml says that there is none"]


# ── what was found ────────────────────────────────────────────────────────────────────────────────────


def test_a_found_command_judges_and_says_where_it_is_from(tmp_path: Path) -> None:
    judging = node(tmp_path)
    good = judge(judging, judging.candidate(GOOD))
    assert (good.findings, good.unverified) == ([], [])
    assert [(each.gate, each.command) for each in good.evidence] == [("lint", "npm run lint")]
    assert "found from main's files" in good.evidence[0].summary
    (finding,) = judge(judging, judging.candidate(BAD)).findings
    assert finding.gate == "lint" and "eval is evil" in finding.output and "npm run lint" in finding.message


def test_a_command_runs_once_for_a_tree(tmp_path: Path) -> None:
    judging = node(tmp_path)
    made = judging.candidate(GOOD)
    assert judge(judging, made) == judge(judging, made) and len(judging.checkouts) == 1


def test_a_found_command_that_is_red_on_main_too_is_listed(tmp_path: Path) -> None:
    judging = node(tmp_path, **{"old.js": BAD["a.js"]})
    result = judge(judging, judging.candidate(GOOD))
    assert result.findings == []
    assert result.unverified == ["lint: `npm run lint` is red on main too: exit 1, tests not counted"]


def test_a_found_command_whose_program_is_not_there_is_listed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"pyproject.toml": "[tool.ruff]\n"})
    result = judge(judging, judging.candidate(CODE, config="[test]\ncommand = '.venv/bin/python -m pytest'\n"))
    assert result.findings == []
    assert result.unverified == [
        "lint: `.venv/bin/ruff check .` can't be started here ([workspace] setup may install it)"
    ]


def test_a_found_command_that_only_the_story_keeps_from_starting_or_ending_is_refused(tmp_path: Path) -> None:
    for folder, script in (
        ("start", "test ! -e a.js || no-such-program"),
        ("end", "test ! -e a.js || tail -f /dev/null"),
    ):
        need_program("npm")
        judging = Judging.of(tmp_path / folder, {"package.json": json.dumps({"scripts": {"lint": script}})})
        made = judging.candidate(GOOD, config="[test]\ntimeout_seconds = 3.0\n")
        assert verdicts(judge(judging, made)) == REFUSED, folder


def test_agents_own_scripts_are_gates_of_every_story(tmp_path: Path) -> None:
    scripts = {"agent:check": "test ! -e bad", "agent:visual": "test ! -e ugly"}
    need_program("npm")
    judging = Judging.of(tmp_path, {"package.json": json.dumps({"scripts": scripts})})
    assert [each.gate for each in judge(judging, judging.candidate(GOOD)).evidence] == ["agent:check", "agent:visual"]
    for name, gate in (("bad", "agent:check"), ("ugly", "agent:visual")):
        (finding,) = judge(judging, judging.candidate({name: "x"})).findings
        assert (finding.gate, finding.verdict.value) == (gate, "command_failed")


def test_a_linter_that_mends_what_it_finds_is_told(tmp_path: Path) -> None:
    need_program("npm")
    mends = "for f in *.js; do test ! -e $f || echo 'module.exports = 2;' > $f; done"
    judging = Judging.of(tmp_path, {"package.json": json.dumps({"scripts": {"lint": mends}})})
    result = judge(judging, judging.candidate(GOOD))
    assert result.unverified == ["lint: `npm run lint` changes a.js: what it passes is not what lands"]


# ── no way around ─────────────────────────────────────────────────────────────────────────────────────


EASY = package(scripts={"lint": "true"})
UNREADABLE = {"package.json": '{"scripts": {"lint": "true"}, '}


@pytest.mark.parametrize(
    "loosened",
    [
        EASY,
        package(scripts={"lint": BY_NPM, "prelint": "rm -f a.js"}),
        package(scripts={}),
        UNREADABLE,
        {"package.json": None},
        {".npmrc": "script-shell=/bin/true\n"},
    ],
    ids=["script", "script before", "no script", "not JSON", "gone", "shell"],
)
def test_a_story_that_says_otherwise_is_judged_by_mains_word(tmp_path: Path, loosened: dict[str, Content]) -> None:
    """Whatever its scope names."""
    judging = node(tmp_path)
    named = () if ".npmrc" in loosened else tuple(loosened)
    (finding,) = judge(judging, judging.candidate(BAD | loosened, scope=("a.js", *named))).findings
    assert "eval is evil" in finding.output
    assert f"by what main says in {next(iter(loosened))}" in finding.message and "may_change" in finding.message


def test_a_dependency_is_no_other_word_and_costs_no_second_run(tmp_path: Path) -> None:
    judging = node(tmp_path)
    result = judge(judging, judging.candidate(GOOD | package(dependencies={"left-pad": "1"})))
    assert (result.findings, len(result.evidence), len(judging.checkouts)) == ([], 1, 1)


def test_what_is_right_by_mains_word_must_be_right_by_the_storys_too(tmp_path: Path) -> None:
    """Else main would be red from then on, and charge nobody."""
    judging = node(tmp_path)
    stricter = package(scripts={"lint": f"{BY_NPM} && echo own rule"})
    result = judge(judging, judging.candidate(GOOD | stricter))
    assert result.findings == []
    assert [each.gate for each in result.evidence] == ["lint", "lint with the story's settings"]
    broken = package(scripts={"lint": "exit 4"})
    (finding,) = judge(judging, judging.candidate(GOOD | broken)).findings
    assert "what the story itself says in package.json" in finding.message and "exit 4" in finding.message
    assert verdicts(judge(judging, judging.candidate(GOOD | package(scripts={})))) == REFUSED


def test_a_spec_lets_the_storys_own_word_hold(tmp_path: Path) -> None:
    judging = node(tmp_path)
    result = judge(judging, judging.candidate(BAD | EASY, may_change=("package.json",)))
    assert (result.findings, len(result.evidence)) == ([], 1)


def test_a_file_that_a_script_runs_judges_and_one_that_builds_does_not(tmp_path: Path) -> None:
    scripts = {"lint": BY_NPM, "build": "node build.js"}
    judging = node(tmp_path, **{"build.js": "", "package.json": json.dumps({"scripts": scripts})})
    changed = judging.candidate(GOOD | {"tools/lint.js": "", "build.js": "1;\n"}, scope=("./", "tools/"))
    (finding,) = WeakenedTests().check(changed).findings
    assert finding.paths == ["tools/lint.js"]
    named = judging.candidate({"tools/lint.js": ""}, scope=("tools/lint.js",))
    assert WeakenedTests().check(named).findings == []


def test_what_a_command_prints_says_nothing(tmp_path: Path) -> None:
    says = r"printf '\033[2J\377\376 12 passed in 0.1s\n\000 ok 1 - all\nTests: 3 passed\n'; test ! -e src.py"
    judging = Judging.of(tmp_path)
    config = f"[gates.commands]\nlint = {json.dumps(says)}\n"
    result = judge(judging, judging.candidate(CODE, config=config))
    assert verdicts(result) == REFUSED
    assert GateResult.model_validate_json(result.model_dump_json()) == result
