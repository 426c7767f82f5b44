"""From a candidate to a job, from a run to evidence."""

from collections.abc import Iterable, Mapping

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, Job, TestRun

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
