"""Every job that CI shows must be a success; required ones must be there, optional ones may be anything (W1)."""

import pytest

from damascus.domain.config import parse_config
from damascus.domain.ports import CiJob, CiRun, WantedJobs

pytestmark = pytest.mark.req("W1")


def shown(**states: str) -> CiRun:
    jobs = [CiJob(name=name, state=state) for name, state in states.items()]  # type: ignore[arg-type]
    return CiRun(sha="a" * 40, run_id="1", jobs=jobs)


def wanted(text: str) -> WantedJobs:
    return WantedJobs.of(parse_config(f"[ci]\n{text}").ci)


def test_a_red_job_that_nobody_named_is_red() -> None:
    assert shown(test="success").green(wanted(""))
    for state in ("failure", "cancelled", "skipped", "running", "waiting"):
        assert not shown(test="success", lint=state).green(wanted("")), state
        assert not shown(test="success", lint=state).green(wanted("required = ['test']")), state


def test_an_optional_job_may_be_anything_and_is_told() -> None:
    optional = wanted("optional = ['lint']")
    for state in ("failure", "cancelled", "skipped", "running", "waiting"):
        run = shown(test="success", lint=state)
        assert run.green(optional) and run.ended(optional)
        assert run.waved_through(optional) == [f"CI job lint: optional, {state}"]
    assert shown(test="success", lint="success").waved_through(optional) == []


def test_what_is_required_must_be_there() -> None:
    assert not shown(build="success").green(wanted(""))
    assert shown(build="success").green(wanted("required = ['build']"))
    assert not shown(build="success").green(wanted("required = ['build', 'test']"))


def test_nothing_is_green_by_being_optional() -> None:
    everything = wanted("optional = ['test', 'lint']")
    assert everything.required == ()
    assert not shown(test="success", lint="failure").green(everything)
    assert not shown().green(everything) and not shown().ended(everything)


def test_required_holds_against_optional() -> None:
    both = wanted("required = ['test']\noptional = ['test']")
    assert not shown(test="failure", other="success").green(both)


def test_a_job_that_mirrors_main_may_be_skipped_and_no_more() -> None:
    mirror = wanted("mirror_job = 'mirror'")
    assert shown(test="success", mirror="skipped").green(mirror)
    assert shown(test="success", mirror="skipped").waved_through(mirror) == []
    assert not shown(test="success", mirror="failure").green(mirror)


def test_a_provisional_run_proves_nothing() -> None:
    assert not shown(test="success").model_copy(update={"provisional": True}).green(wanted(""))
