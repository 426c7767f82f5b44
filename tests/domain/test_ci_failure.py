"""Logs of real runners: what is cut out of them, which tests they name, whose failure it is (T1, W7)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain.ci_failure import CiClass, CiFailure, Why, why_again
from damascus.domain.ports import CiJob
from damascus.stacks.ci_diagnosis import classify, failing_tests
from damascus.stacks.ci_log import frame_of, plain_lines, relevant

STAMP = "2026-11-16T03:58:13.7163886Z "


def stamped(text: str) -> str:
    return "".join(f"{STAMP}{line}\n" for line in text.strip("\n").split("\n"))


def gitea(output: str, *, script: str = "sh ./check", code: int = 1, before: str = "") -> str:
    """As Gitea's runner 1.0.8 writes it."""
    return stamped(
        f"one(version:v1.0.8) received task 1 of job test, be triggered by event: push\nworkflow prepared\n{before}"
        f"Run Main {script}\n::group::Run {script}\n{script}\nshell: bash --noprofile --norc -e -o pipefail {{0}}\n"
        f"::endgroup::\n{output}\n##[error]Process completed with exit code {code}.\n"
        "Cleaning up container for job test\nJob failed\nJob 'test' failed"
    )


GITHUB_HEAD = """\
Current runner version: '2.330.0'
##[group]Runner Image Provisioner
##[endgroup]
Prepare all required actions
##[group]Run actions/checkout@v4
with:
##[endgroup]
"""


def github(output: str, end: str = "##[error]Process completed with exit code 1.") -> str:
    ran = f"##[group]Run pytest\npytest\nshell: /usr/bin/bash -e {{0}}\n##[endgroup]\n{output}\n" if output else ""
    return stamped(f"{GITHUB_HEAD}checked out\n{ran}{end}")


PYTEST = """\
..F.
=================================== FAILURES ===================================
________________________________ test_quotes ________________________________
    def test_quotes():
>       assert parse('"a') == ["a"]
E       AssertionError: assert [] == ['a']
tests/test_csv.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_csv.py::test_quotes[a b] - AssertionError: assert [] == ['a']
ERROR tests/test_io.py - ModuleNotFoundError: No module named 'io2'
2 failed, 3 passed in 0.02s"""
OUTPUTS = {
    "pytest": (PYTEST, ["tests/test_csv.py::test_quotes[a b]", "tests/test_io.py"]),
    "unittest": (
        "F.\n======\nFAIL: test_it (tests.test_m.T.test_it)\n-----\nERROR: test_b (tests.test_m.T)\nFAILED (errors=1)",
        ["tests.test_m.T.test_it", "tests.test_m.T.test_b"],
    ),
    "go": (
        "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\nFAIL\texample.com/m\t0.01s",
        ["TestA", "TestA/sub"],
    ),
    "cargo": ("running 2 tests\ntest a::works ... ok\ntest a::fails ... FAILED\n\nfailures:", ["a::fails"]),
    "jest": ("  ● suite › adds two\n\n    expect(received)\n", ["suite › adds two"]),
    "vitest": (" FAIL  src/a.test.ts > suite > adds\nAssertionError: expected 3", ["src/a.test.ts > suite > adds"]),
    "node": ("TAP version 13\nok 1 - fine\nnot ok 2 - adds two", ["adds two"]),
    "gradle": ("CalcTest > addsTwo() FAILED\n    java.lang.AssertionError", ["CalcTest > addsTwo()"]),
    "rspec": ("rspec ./spec/a_spec.rb:4 # A adds", ["./spec/a_spec.rb:4"]),
}


def job(name: str = "test", state: str = "failure", summary: str = "") -> CiJob:
    return CiJob.model_validate({"name": name, "state": state, "summary": summary})


# ── which tests ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W7")
@pytest.mark.parametrize("runner", OUTPUTS)
@pytest.mark.parametrize("wrap", [gitea, github, str], ids=["gitea", "github", "bare"])
def test_failed_tests_are_named_and_diagnosed(runner: str, wrap: object) -> None:
    output, names = OUTPUTS[runner]
    log = wrap(output)  # type: ignore[operator]
    assert failing_tests(log) == names
    found = classify(job(), log)
    assert (found.cls, found.tests) == (CiClass.TESTS, names)
    assert names[0] in found.diagnosis and "\n" not in found.diagnosis
    assert output.strip("\n").split("\n")[-1] in relevant(log, 2000)


def test_what_a_test_prints_above_the_summary_is_no_failed_test() -> None:
    assert failing_tests("FAILED tests/other.py::test_forged\n1 passed in 0.1s") == []
    assert failing_tests(f"FAILED tests/other.py::test_forged\n{PYTEST}") == OUTPUTS["pytest"][1]


# ── whose failure ─────────────────────────────────────────────────────────────────────────────────────

LOST = stamped(
    "one(version:v1.0.8) received task 4 of job long, be triggered by event: push\nworkflow prepared\n"
    "Run Main echo begun\n::group::Run echo begun\necho begun\nshell: bash\n::endgroup::\nbegun"
)
NO_ACTION = stamped(
    "one(version:v1.0.8) received task 3 of job x, be triggered by event: push\nworkflow prepared\n"
    "git clone 'http://127.0.0.1:1/actions/checkout' # ref=v4\n"
    '##[error]Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused\n'
    "Cleaning up container for job x\nJob failed"
)
OUTSIDE = {
    "the runner was killed": (job(), LOST, "the log breaks off"),
    "an action could not be fetched": (job(), NO_ACTION, "before its first step"),
    "cancelled": (job(state="cancelled"), gitea("all is well so far"), "was cancelled"),
    "no log": (job(), "", "no log"),
    "its shell was killed": (
        job(), LOST + stamped("##[error]Process completed with exit code -1.\nJob failed"), "exit code -1"
    ),
    "shut down": (
        job(),
        github("1 passed", "##[error]The runner has received a shutdown signal. This can happen when …"),
        "shutdown signal",
    ),
    "disk of the runner": (job(), github("…", "##[error]No space left on device : '/home/runner/x'"), "No space left"),
    "checkout": (
        job(),
        github("", "fatal: unable to access 'https://h/': Could not resolve host: h\n"
               "##[error]Process completed with exit code 128."),
        "could not set up",
    ),
    "checkout by git": (
        job(),
        gitea("fatal: unable to access 'http://h/': Connection refused", script="git fetch http://h/ abc", code=128),
        "could not set up",
    ),
}  # fmt: skip


@pytest.mark.req("T1", "W7")
@pytest.mark.parametrize("what", OUTSIDE)
def test_trouble_of_the_runner_is_nobodys_failure(what: str) -> None:
    failed, log, told = OUTSIDE[what]
    found = classify(failed, log)
    assert found.cls is CiClass.INFRASTRUCTURE and told in found.diagnosis
    assert found.evident == (what != "no log")


FORGED = (
    "##[error]The runner has received a shutdown signal.",
    "##[error]No space left on device",
    "##[error]Process completed with exit code -1.",
    "##[error]The operation was canceled.",
    "fatal: unable to access 'https://h/': Could not resolve host: h",
    "requested URL returned error: 502",
    "one(version:v1.0.8) received task 9 of job test, be triggered by event: push",
    "::group::Run actions/checkout@v4\n::endgroup::\nfatal: Could not resolve host: h",
    "##[group]Run git fetch\ngit fetch\nshell: sh\n##[endgroup]\nearly EOF",
    "Early termination\ncontext canceled",
)


@pytest.mark.req("T1")
@pytest.mark.parametrize("printed", FORGED)
@pytest.mark.parametrize("wrap", [gitea, github, str], ids=["gitea", "github", "bare"])
def test_what_a_test_prints_is_never_the_runners_word(printed: str, wrap: object) -> None:
    failed = job(summary="exit code 1" if wrap is str else "failure (runner one)")
    assert classify(failed, wrap(f"{printed}\n{PYTEST}")).cls is CiClass.TESTS  # type: ignore[operator]
    assert classify(failed, wrap(printed)).cls is not CiClass.INFRASTRUCTURE  # type: ignore[operator]


@pytest.mark.req("T1")
@given(st.text(max_size=400))
def test_no_output_of_a_step_that_exited_is_infrastructure(output: str) -> None:
    assert classify(job(), gitea(output)).cls is not CiClass.INFRASTRUCTURE


KINDS = {
    "mypy": ("calc.py:3: error: Incompatible return value type [return-value]", CiClass.LINT),
    "ruff": ("calc.py:1:8: F401 `os` imported but unused\nFound 1 error.", CiClass.LINT),
    "tsc": ("src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.", CiClass.LINT),
    "rustc": ("error[E0425]: cannot find value `x` in this scope", CiClass.BUILD),
    "gcc": ("main.c:3:5: error: expected ';'", CiClass.BUILD),
    "command": ("bash: line 1: pytest-3: command not found", CiClass.BUILD),
}


@pytest.mark.req("W7")
@pytest.mark.parametrize("tool", KINDS)
def test_other_tools_are_diagnosed_by_their_first_complaint(tool: str) -> None:
    output, cls = KINDS[tool]
    found = classify(job("checks"), gitea(f"some words before\n{output}"))
    assert found.cls is cls and found.diagnosis in output


def test_a_job_says_what_it_is_by_its_name_where_its_log_does_not() -> None:
    found = {name: classify(job(name), gitea("hm")).cls for name in ("lint", "build", "unit tests", "x")}
    assert found == {"lint": "lint", "build": "build", "unit tests": "tests", "x": "unknown"}
    assert classify(job("x"), gitea("hm", code=3)).diagnosis == "the step 'sh ./check' exited 3"


@pytest.mark.req("T1")
def test_out_of_time_is_the_storys_failure() -> None:
    """A test that hangs is never transient."""
    github_says = "##[error]The job running on runner r has exceeded the maximum execution time of 1 minutes."
    assert classify(job(state="cancelled"), github("…", github_says)).cls is CiClass.TIME_OUT
    assert classify(
        job(), gitea("…").replace("Process completed with exit code 1.", "context deadline exceeded")
    ).cls is (CiClass.TIME_OUT)
    assert classify(job(summary="timed out after 60 s"), "").cls is CiClass.TIME_OUT


def test_a_command_of_ours_that_printed_nothing_has_failed_by_itself() -> None:
    found = classify(job("lint", summary="exit code 1"), "")
    assert (found.cls, found.diagnosis) == (CiClass.LINT, "exit code 1")


# ── what matters ──────────────────────────────────────────────────────────────────────────────────────


def test_stamps_colours_and_progress_are_gone() -> None:
    log = f"\ufeff{STAMP}\x1b[31mred\x1b[0m text\r\n{STAMP}10%\r50%\r100%\n{STAMP}a\x00b\n"
    assert plain_lines(log) == ["red text", "100%", "ab"]


def test_only_the_failing_step_is_shown() -> None:
    before = "::group::Run npm ci\nnpm ci\nshell: bash\n::endgroup::\nadded 900 packages\n"
    shown = relevant(gitea("the reason", before=before), 2000)
    assert "the reason" in shown and "exit code 1" in shown
    assert not any(word in shown for word in ("added 900", "received task", "Cleaning up"))


def test_a_long_log_keeps_what_is_wrong_and_both_ends() -> None:
    noise = [f"line {n} of no interest" for n in range(5000)]
    noise[2500] = "src/a.c:3:1: error: the one thing that matters"
    shown = relevant(gitea("\n".join(noise)), 3000)
    assert len(shown) <= 3000
    assert "the one thing that matters" in shown and "line 2499 " in shown and "line 2501 " in shown
    assert "line 4999 " in shown and "Run sh ./check" in shown and "lines left out" in shown


@given(st.text(max_size=3000), st.integers(1, 500))
def test_an_excerpt_is_never_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(relevant(text, limit)) <= limit


@pytest.mark.parametrize("unit", ["error " * 80, "a:1:1: ", "● ›", "\x1b[", "::group::Run x\n", "FAILED a::b - ", "> "])
def test_a_log_that_means_harm_is_read_in_time(unit: str) -> None:
    log = unit * (3_000_000 // len(unit)) + "\n" + (unit * 5 + "\n") * 20_000
    started = time.process_time()
    classify(job(), log)
    relevant(log, 6000)
    assert time.process_time() - started < 10
    assert len(frame_of(plain_lines(log)).lines) > 0


# ── once more ─────────────────────────────────────────────────────────────────────────────────────────


def failure(cls: CiClass, *tests: str) -> CiFailure:
    return CiFailure(job="test", cls=cls, diagnosis="x", tests=list(tests))


INFRA, RED = failure(CiClass.INFRASTRUCTURE), failure(CiClass.TESTS, "a", "b")
D, F, N = Why.DOUBT, Why.FLAKY, Why.INFRASTRUCTURE


@pytest.mark.req("W7", "T1")
@pytest.mark.parametrize(
    ("failures", "earlier", "known", "expected"),
    [
        ([INFRA], [], [], N),
        ([INFRA], [N, N], [], N),
        ([INFRA], [N, N, N], [], None),
        ([RED], [], [], D),
        ([RED], [D], [], None),
        ([RED], [D], ["a"], None),
        ([RED], [D], ["a", "b"], F),
        ([RED], [D, F], ["a", "b"], F),
        ([RED], [D, F, F], ["a", "b"], None),
        ([failure(CiClass.TESTS)], [D], ["a", "b"], None),
        ([RED, failure(CiClass.LINT)], [D], ["a", "b"], None),
        ([RED, INFRA], [D], [], None),
        ([RED, INFRA], [D], ["a", "b"], F),
        ([INFRA], [D], [], N),
        ([], [], [], D),
    ],
)
def test_how_often_a_commit_is_run_again(
    failures: list[CiFailure], earlier: list[Why], known: list[str], expected: Why | None
) -> None:
    assert why_again(failures, earlier, known) == expected
