"""Full builds of real stacks, with every gate that a project has by default: a function that no test needs is found by
our own mutants, and the fixer adds the test."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.receipt import BuildReceipt
from damascus.engine.flow.hardening import EXPLAIN_MUTANTS, MUTATE
from damascus.store import artifacts
from tests.crash.boundaries import OUTSIDE
from tests.engine.flow_stories import author, journal, secure, turn, verified
from tests.engine.shell_stories import Watched
from tests.engine.test_review_and_ci import run_as_if_killed
from tests.yard import CONFIG, NO_PYTEST_CACHE, START, Yard, python, story

GATES = CONFIG.replace('canary = false\nmutation = "off"\n', 'canary = false\nmutation = "bodies"\n')
FULL = '[flow]\nprofile = "full"\nskip = ["load_context", "clarify", "docs"]\n'
PY_CODE = "def double(n):\n    return 2 * n\n\n\ndef half(n):\n    return n / 2\n"
PY_TEST = "from maths import double\n\n\ndef test_REQ_001_double():\n    assert double(4) == 8\n"
PY_MORE = "from maths import half\n\n\ndef test_REQ_001_half():\n    assert half(4) == 2\n"
JS_CODE = (
    "function double(n) {\n  return 2 * n;\n}\nfunction half(n) {\n  return n / 2;\n}\n"
    "module.exports = { double, half };\n"
)
JS_TEST = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { double } = require('../maths.js');\n"
    "test('REQ-001 double', () => { assert.strictEqual(double(4), 8); });\n"
)
JS_MORE = JS_TEST.replace("double", "half").replace("half(4), 8", "half(4), 2")
STACKS: dict[str, dict[str, Any]] = {
    "python": {
        "files": START, "code": ("maths.py", PY_CODE), "test": ("tests/test_maths.py", PY_TEST),
        "more": ("tests/test_half.py", PY_MORE),
        "command": f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} tests",
    },
    "node": {
        "files": {"package.json": '{"name": "maths", "version": "1.0.0"}\n'}, "code": ("maths.js", JS_CODE),
        "test": ("test/maths.test.js", JS_TEST), "more": ("test/half.test.js", JS_MORE), "command": "node --test",
    },
}  # fmt: skip

KILLS = [*((EXPLAIN_MUTANTS.name, point) for point in OUTSIDE), ("mutate", "after"), ("fix", "after_done")]


def script(parts: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    def writes(role: str, what: str) -> dict[str, Any]:
        path, text = parts[what]
        return author(role, {path: text})

    return {
        "one": [
            writes("test-author", "test"), verified("test-critic"), writes("code-implementer", "code"),
            verified("code-critic"), turn("mutator", report={"summary": "Nobody asks half for its answer."}),
            writes("fixer", "more"), verified("self-reviewer"), secure(),
            turn("reporter", report={"summary": "half and double are there"}),
        ]
    }  # fmt: skip


def yard_of(stack: str, folder: Path, url: str, gates: str = GATES) -> Yard:
    if stack == "node" and shutil.which("node") is None:
        pytest.skip("node is missing: apt-get install nodejs")
    parts = STACKS[stack]
    yard = Yard(folder, url, files=parts["files"], config=gates + FULL)
    scope = [parts[what][0] for what in ("code", "test", "more")]
    yard.add(story("one", scope=scope, command=parts["command"], requirements={"REQ-001": "half and double"}))
    return yard


@pytest.mark.req("F5", "F1")
@pytest.mark.parametrize("stack", STACKS)
def test_a_mutant_that_lives_sends_the_fixer_for_a_test(stack: str, tmp_path: Path, database_url: str) -> None:
    yard = yard_of(stack, tmp_path, database_url)
    agent = Watched(yard, script(STACKS[stack]))
    yard.work(agent)

    assert yard.item("one")["phase"] == "done", (yard.questions(), yard.item("one")["last_feedback"])
    assert yard.item("one")["attempts"] == 0 and yard.on_main(STACKS[stack]["more"][0]) is not None
    assert [brief.role for brief, _, _ in agent.given][4:7] == ["mutator", "fixer", "self-reviewer"]
    asked = agent.given[5][1]
    assert "half" in asked and "What the mutator says of it" in asked
    first, second = (judged.of("mutation") for judged in journal(yard, MUTATE))
    assert first.findings and not second.findings
    reports = artifacts.versions(yard.db, yard.item("one")["id"], "build/mutation_report.md")
    assert "Nobody asks half for its answer." in reports[1].content.decode()
    assert first.evidence[0].summary in reports[0].content.decode(), "the tool's own numbers"


@pytest.mark.req("F9.2", "F10.1")
def test_a_number_that_no_runner_told_blocks_the_tests_and_the_self_reviewer_is_told(
    tmp_path: Path, database_url: str
) -> None:
    yard = yard_of("python", tmp_path, database_url, gates=CONFIG)
    told = script(STACKS["python"])
    told["one"][3] = verified("code-critic", summary="17 passed, and nobody counted them")
    agent = Watched(yard, told)
    yard.work(agent)
    reviewer = next(prompt for brief, prompt, _ in agent.given if brief.role == "self-reviewer")
    assert "Metrics mismatch" in reviewer and "code-critic (critique_code) says 17 passed; the tools say" in reviewer
    [question] = yard.questions()
    assert "tests are BLOCKED" in question and yard.item("one")["attempts"] == 0
    kept = artifacts.latest(yard.db, yard.item("one")["id"], "build/build_receipt.json")
    assert kept is not None
    receipt = BuildReceipt.model_validate_json(kept.content)
    assert (receipt.tests.metrics_consistency, receipt.tests.status) == ("MISMATCH", "BLOCKED")
    assert any(note.startswith("metrics mismatch: code-critic") for note in receipt.notes)


@pytest.mark.req("D21", "F5")
@pytest.mark.parametrize("moment", KILLS, ids=[":".join(moment) for moment in KILLS])
def test_a_killed_hardening_goes_on_where_it_was(moment: tuple[str, str], tmp_path: Path, database_url: str) -> None:
    yard = yard_of("python", tmp_path, database_url)

    def killed(step: str, point: str) -> None:
        if (step, point) == moment:
            raise KeyboardInterrupt

    first = Watched(yard, script(STACKS["python"]))
    with pytest.raises(KeyboardInterrupt):
        run_as_if_killed(yard, killed, first)
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    heir = Watched(yard, script(STACKS["python"]))
    yard.work(heir)
    assert yard.item("one")["phase"] == "done", yard.questions()
    roles = [brief.role for brief, _, _ in (*first.given, *heir.given)]
    lost = ["mutator"] if moment[1] == "after_effect" else []  # its result was not recorded
    again = {role for role in roles if roles.count(role) > 1}
    assert again == {"code-critic", *lost}, "of the build, and of the review"
    assert len(roles) == 10 + len(lost) and len(journal(yard, EXPLAIN_MUTANTS)) == 1
