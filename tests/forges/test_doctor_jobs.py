"""`forge doctor` compares [ci] with main's last run and proposes what it would have to say (W1)."""

import pytest

from damascus.domain.config import parse_config
from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun
from damascus.forges.doctor_jobs import jobs_check
from damascus.forges.doctor_questions import Patient
from damascus.forges.http import Api

pytestmark = pytest.mark.req("W1")

TIP = Sha("a" * 40)


def told(ci: str, **states: str) -> tuple[str, str]:
    patient = Patient(parse_config(f"[ci]\n{ci}"), {}, "main", Api("http://127.0.0.1:1", lambda: ""), "")
    jobs = [CiJob(name=name, state=state) for name, state in states.items()]  # type: ignore[arg-type]
    check = jobs_check(patient, TIP, lambda sha: CiRun(sha=sha, run_id="1", jobs=jobs))
    return check.state, check.says


def test_a_run_that_would_let_a_story_land_is_fit() -> None:
    assert told("", test="success")[0] == "ok"
    assert told("optional = ['lint']", test="success", lint="failure")[0] == "ok"


def test_what_would_stop_every_story_comes_with_a_proposal() -> None:
    state, says = told("", build="success", lint="failure", deploy="skipped")
    assert state == "warn"
    assert says.endswith('required = ["build"], optional = ["lint", "deploy"]')
    assert told("mirror_job = 'mirror'", build="success", mirror="skipped")[1].endswith('["build"], optional = []')


def test_no_run_or_none_that_has_ended_is_said() -> None:
    assert told("")[0] == told("", test="running")[0] == "warn"
    patient = Patient(parse_config(""), {}, "main", Api("http://127.0.0.1:1", lambda: ""), "")
    assert "no finished CI run" in jobs_check(patient, None, lambda sha: CiRun(sha=sha, run_id="")).says


def test_a_main_that_is_red_by_itself_is_named_and_charged_to_nobody() -> None:
    state, says = told("[workspace]\nsetup = 'make deps'", test="failure")
    assert state == "warn"
    assert "main itself is red (test)" in says and "charged nothing" in says and "[workspace] setup" in says
    assert "itself is red" not in told("", build="success", deploy="skipped")[1]
