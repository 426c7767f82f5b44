"""What a task's type and its own gate commands add: rules 2 and 6 of the source's builder."""

from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.ports import Candidate, GateResult
from damascus.domain.tasks import TaskType
from damascus.gates.commands import Commands
from damascus.gates.contracts import Contracts
from damascus.gates.visual import Visual, needs
from tests.browser import RememberedPictures
from tests.gates.judging import CODE, PYTHON, TEST, Judging, verdicts
from tests.gates.shop_api import API, CONFIG, judged, said, written

UI = '[visual]\npages = ["index.html"]\n'


def contracts(judging: Judging, candidate: Candidate) -> GateResult:
    return Contracts(judging.runner).check(candidate)


def looked(judging: Judging, candidate: Candidate) -> GateResult:
    return Visual(judging.runner, RememberedPictures()).check(candidate)


def commands(folder: Path, *own: str, config: str = "") -> GateResult:
    judging = Judging.of(folder)
    candidate = judging.candidate(CODE | TEST, config=config, gate_commands=own)
    return Commands(judging.runner, judging.mirror).check(candidate)


# ── gate commands ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("A6")
@pytest.mark.parametrize(
    "command", ["exit 3", "no-such-program", f"{PYTHON} -m pytest -q -k nothing tests; exit 0", "tail -f /dev/null"]
)
def test_rule_2_no_bypass_of_gate_commands(tmp_path: Path, command: str) -> None:
    """Not though it is the same on main, not though it can't be started."""
    result = commands(tmp_path, "true", command, config="[test]\ntimeout_seconds = 5\n")
    assert verdicts(result) == ["command_failed"] and result.unverified == []
    assert result.findings[0].gate == "gate 2" and command in result.findings[0].message


@pytest.mark.req("A6")
def test_own_commands_run_beside_the_projects(tmp_path: Path) -> None:
    result = commands(tmp_path, "test -e src.py", config="[gates.commands]\nlint = 'grep -q def src.py'\n")
    assert result.findings == []
    assert [(each.gate, each.exit_code) for each in result.evidence] == [("lint", 0), ("gate 1", 0)]


# ── types ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("A5")
@pytest.mark.parametrize("kind", [TaskType.API, TaskType.DATA])
def test_rule_6_contract_validation_is_mandatory_for_api_tasks(tmp_path: Path, kind: TaskType) -> None:
    judging = Judging.of(tmp_path)
    for config, why in (("", "names no contract"), (CONFIG, "touches no file that [contracts] names")):
        result = contracts(judging, judging.candidate(CODE | TEST, config=config, task_type=kind))
        assert verdicts(result) == ["contract_broken"] and why in result.findings[0].message
        assert contracts(judging, judging.candidate(CODE | TEST, config=config)).findings == []


@pytest.mark.req("A5")
def test_an_api_task_whose_contract_was_checked_passes(tmp_path: Path) -> None:
    more = written(lambda api: api["paths"].update({"/more": {"get": {"responses": {"200": {"description": ""}}}}}))
    result = judged(tmp_path, {API: written()}, {API: more}, task_type=TaskType.API)
    assert result.findings == [] and "a valid OpenAPI description" in result.evidence[0].summary


@pytest.mark.req("A5")
def test_code_alone_without_a_server_to_ask_checks_nothing(tmp_path: Path) -> None:
    config = CONFIG + 'code = ["src.py"]\n'
    result = judged(tmp_path, {API: written()}, CODE, config=config, task_type=TaskType.API)
    assert "none was: contracts: whether the server does what its description says" in said(result)


@pytest.mark.req("A6")
def test_a_ui_task_needs_a_page_that_was_looked_at(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    for files, config in ((CODE, ""), (TEST, UI)):
        result = looked(judging, judging.candidate(files, config=config, task_type=TaskType.UI))
        assert verdicts(result) == ["page_not_accepted"] and "type ui needs a page" in result.findings[0].message
        assert looked(judging, judging.candidate(files, config=config)).findings == []


@pytest.mark.req("A6")
def test_a_ui_task_without_a_browser_is_a_persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "browser", lambda config: "")
    judging = Judging.of(tmp_path)
    with pytest.raises(DamascusError, match="can't be looked at"):
        looked(judging, judging.candidate(CODE, config=UI, task_type=TaskType.UI))
