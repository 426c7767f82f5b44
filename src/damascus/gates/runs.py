"""From a candidate to a job, from a run to evidence."""

from collections.abc import Iterable, Mapping

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, Job, TestRun
from damascus.domain.run_counts import RunCounts
from damascus.stacks.printed import OUTCOMES, printed_outcomes

TO_THE_END = "--continue-on-collection-errors --maxfail=0"


def job(candidate: Candidate, tree: Sha, command: str, label: str) -> Job:
    return Job(
        tree=tree,
        command=command,
        timeout=candidate.config.test.timeout_seconds,
        label=label,
        log=candidate.logs / f"{label}.log",
        env=candidate.env,
    )


def to_the_end(env: Mapping[str, str]) -> dict[str, str]:
    """One file that can't be imported, or the first failure, must not hide what the others say."""
    return {**env, "PYTEST_ADDOPTS": f"{env.get('PYTEST_ADDOPTS', '')} {TO_THE_END}".strip()}


def evidence(gate: str, run: TestRun) -> Evidence:
    return Evidence(
        gate=gate,
        command=run.command,
        exit_code=run.exit_code,
        tree=run.tree,
        seconds=run.seconds,
        log=run.log,
        summary=summary(run),
        kept=run.kept,
    )


def summary(run: TestRun) -> str:
    ended = "timed out" if run.timed_out else f"exit {run.exit_code}"
    if not run.counted:
        return f"{ended}, tests not counted"
    return f"{ended}, {run.passed} passed, {run.failed} failed, {run.skipped} skipped"


def counts(run: TestRun) -> RunCounts:
    """By the report, test by test, and where that hides something by the runner's own last line: pytest's report calls
    an unexpected pass a pass. A line that tells anything else is not the runner's: a test can print one."""
    told = {name: sum(case.status == name for case in run.cases) for name in OUTCOMES}
    told["failed"] += sum(case.status == "error" for case in run.cases)
    single = tells_single_tests(run)
    if not single:
        told = {"passed": run.passed, "failed": run.failed, "skipped": run.skipped, "xfailed": 0, "xpassed": 0}
    runners = sorted({call.runner for call in run.calls})
    printed = printed_outcomes(run.summary) if len(runners) < 2 else {}
    differs: list[str] = []
    if printed and _is_finer(printed, told):
        told = printed
    elif printed:
        differs = [f"{name} {told[name]} and {printed[name]}" for name in OUTCOMES if told[name] != printed[name]]
    return RunCounts(
        counted=run.counted,
        total=sum(told.values()),
        **told,
        single=single,
        runners=runners,
        summary=run.summary,
        differs=differs if run.counted else [],
    )


def _is_finer(printed: Mapping[str, int], told: Mapping[str, int]) -> bool:
    """The same, but for passes and skips that were expected to be none."""
    return (
        printed["failed"] == told["failed"]
        and printed["passed"] <= told["passed"]
        and printed["passed"] + printed["xpassed"] == told["passed"] + told["xpassed"]
        and printed["skipped"] + printed["xfailed"] == told["skipped"] + told["xfailed"]
    )


def failed_tests(run: TestRun) -> list[str]:
    return [case.id for case in run.cases if case.status in ("failed", "error")]


def passed_tests(run: TestRun) -> list[str]:
    return [case.id for case in run.cases if case.status == "passed"]


def tells_single_tests(run: TestRun) -> bool:
    """Does the report name every test, or only those that failed (unittest), or none?"""
    return bool(run.cases) and len(run.cases) >= run.total


def by_told_name(told: Iterable[str], reported: Iterable[str]) -> dict[str, str]:
    """From names as a running test knows itself (pytest's, relative to its root; unittest's, with dots) to those of
    the report, by the checkout's paths. What can't be found is left out."""
    names = {one: one for one in reported}
    names |= {_dotted(one): one for one in names}
    before: set[str] = {""}
    found = {}
    for test in sorted(told):
        match = next((names[at + test] for at in before if at + test in names), "")
        if not match and (longer := next((one for one in names if one.endswith(("/" + test, "." + test))), "")):
            before.add(longer[: len(longer) - len(test)])
            match = names[longer]
        if match:
            found[test] = match
    return found


def _dotted(test: str) -> str:
    path, _, rest = test.partition("::")
    return f"{path.removesuffix('.py')}.{rest}".replace("/", ".").replace("::", ".")


def uncounted(run: TestRun) -> list[str]:
    """What can't be proved of this run, by name."""
    if not run.counted:
        return [f"test count: `{run.command}` prints none; red and green by exit code only"]
    if not run.cases:
        return [f"single tests: `{run.command}` tells counts only"]
    return []
