"""Why a CI job is not green, read from its log: whose failure it is, which tests, and one line that says it (W7).

Whether a failure is the infrastructure's is told by the job's state, by a log that is missing or breaks off, and by the
runner's own lines; never by what a test prints (T1). The other classes only sharpen the diagnosis.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from damascus.domain.ci_failure import CiClass, CiFailure
from damascus.domain.failures import transient_git_output
from damascus.domain.ports import CiJob, CiState
from damascus.stacks.ci_log import Frame, frame_of, plain_lines

MOST_TESTS = 50
LONGEST_NAME = 200
LONGEST_DIAGNOSIS = 200
NAMED = 3


# ── which tests ───────────────────────────────────────────────────────────────────────────────────────

PYTEST_SUMMARY = re.compile(r"=* ?short test summary info ?=*$")
UNITTEST = re.compile(r"(?:FAIL|ERROR): (\S+) \(([\w.]+)\)")
NAMING = (
    re.compile(r"\s*--- FAIL: (\S+) \("),
    re.compile(r"test (\S+)(?: - should panic)? \.\.\. FAILED$"),
    re.compile(r"\s*● ([^›]+ › .+)$"),
    re.compile(r" *FAIL {1,2}(\S+ > .+)$"),
    re.compile(r"not ok \d+ - (.+)$"),
    re.compile(r"(\S+ > .+) FAILED$"),
    re.compile(r"rspec (\S+:\d+) # "),
)
"""go test, cargo test, jest, vitest, TAP (node --test), gradle, rspec."""


def failing_tests(log: str) -> list[str]:
    """The names of failed tests where a known runner's report shows them, in their order."""
    lines = plain_lines(log)
    names = dict.fromkeys(name[:LONGEST_NAME] for names in (_pytest(lines), _others(lines)) for name in names)
    return list(names)[:MOST_TESTS]


def _pytest(lines: list[str]) -> Iterator[str]:
    """Only below the last summary's head: a test may print anything above it."""
    heads = [number for number, line in enumerate(lines) if PYTEST_SUMMARY.match(line)]
    for line in lines[heads[-1] :] if heads else []:
        word, _, rest = line.partition(" ")
        name = rest.split(" - ")[0].strip()
        if word in ("FAILED", "ERROR") and ("::" in name or name.endswith(".py")):
            yield name


def _others(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if found := UNITTEST.match(line):
            name, dotted = found.groups()
            yield dotted if dotted.rpartition(".")[2] == name else f"{dotted}.{name}"
        else:
            yield from (found[1].strip() for pattern in NAMING if (found := pattern.match(line)))


# ── whose failure ─────────────────────────────────────────────────────────────────────────────────────

LOST = re.compile(
    r"The runner has received a shutdown signal|The hosted runner.{0,80} lost communication|"
    r"The self-hosted runner.{0,80} lost communication|No space left on device|The operation was canceled|"
    r"Early termination|context canceled|Process completed with exit code -1\."
)
"""The last: no step ends so by itself, its shell was killed."""
OUT_OF_TIME = re.compile(
    r"The (?:job|action).{0,120} has (?:exceeded the maximum execution time|timed out)|context deadline exceeded"
)
RAN = re.compile(r"exit code -?\d+|timed out after ")
"""What our own CI says of a job whose command ran, whatever it printed."""


def classify(job: CiJob, log: str) -> CiFailure:
    """The failure of a job that ended `failure` or `cancelled`."""
    frame = frame_of(plain_lines(log))
    if _out_of_time(job, frame):
        return _failure(job, CiClass.TIME_OUT, "it ran out of time")
    if reason := _outside(job, frame):
        return _failure(
            job, CiClass.INFRASTRUCTURE, reason, evident=bool(frame.lines) or job.state == CiState.CANCELLED
        )
    tests = failing_tests(log)
    if tests:
        return _failure(job, CiClass.TESTS, _named(tests), tests)
    part = frame.failing_part()
    for cls, told in KINDS:
        if line := next((line for line in part if told(line)), ""):
            return _failure(job, cls, line.strip())
    return _failure(job, _by_name(job.name), _exit(job, frame))


def _failure(job: CiJob, cls: CiClass, diagnosis: str, tests: Sequence[str] = (), *, evident: bool = True) -> CiFailure:
    line = " ".join(diagnosis.split())
    short = line if len(line) <= LONGEST_DIAGNOSIS else line[: LONGEST_DIAGNOSIS - 1] + "…"
    return CiFailure(job=job.name, cls=cls, diagnosis=short, tests=list(tests), evident=evident)


def _out_of_time(job: CiJob, frame: Frame) -> bool:
    if job.summary.startswith("timed out after "):
        return True
    return frame.exited_at is None and OUT_OF_TIME.match(frame.complaint) is not None


def _outside(job: CiJob, frame: Frame) -> str:
    """Why the job says nothing about the commit; "" where a step of it ended by itself."""
    if job.state == CiState.CANCELLED:
        return "it was cancelled"
    if RAN.search(job.summary):
        return ""
    if not frame.lines:
        return "it failed and there is no log of it"
    if not frame.framed:
        return ""
    if not frame.steps:
        return f"it failed before its first step: {frame.complaint or frame.lines[-1]}"
    if frame.exited_at is None:
        if not frame.ended:
            return "its runner was lost: the log breaks off"
        return f"its runner gave up: {frame.complaint}" if LOST.match(frame.complaint) else ""
    if frame.failed_in_set_up and transient_git_output("\n".join(frame.failing_part())):
        return "its runner could not set up: the network failed it"
    return ""


def _named(tests: list[str]) -> str:
    more = f" and {len(tests) - NAMED} more" if len(tests) > NAMED else ""
    count = "1 test failed" if len(tests) == 1 else f"{len(tests)} tests failed"
    return f"{count}: {', '.join(tests[:NAMED])}{more}"


LINT_LINE = re.compile(
    r"Found \d+ errors?\b|✖ \d+ problems?|would reformat |\S+:\d+:\d+: [A-Z]+\d+ |"
    r"\S+:\d+(?::\d+)?: error: .+\[[\w-]+\]$|.{0,200}error TS\d{4}:"
)
BUILD_LINE = re.compile(
    r"error(?:\[E\d+\])?: |\S+:\d+:\d+: (?:fatal )?error: |make(?:\[\d+\])?: \*\*\* |npm (?:ERR!|error) |"
    r"FAIL\t\S+ \[build failed\]|\S+\.go:\d+:\d+: |SyntaxError: |ModuleNotFoundError: |ImportError: |"
    r".{0,80}: (?:command )?not found$"
)
KINDS: tuple[tuple[CiClass, Callable[[str], object]], ...] = (
    (CiClass.LINT, LINT_LINE.match),
    (CiClass.BUILD, BUILD_LINE.match),
)
LINT_JOB = re.compile(r"lint|type|format|fmt|style|mypy|ruff|eslint|clippy|tsc", re.IGNORECASE)
BUILD_JOB = re.compile(r"build|compile|package|image|docker", re.IGNORECASE)
TEST_JOB = re.compile(r"test|check|spec", re.IGNORECASE)


def _by_name(job: str) -> CiClass:
    for pattern, cls in ((LINT_JOB, CiClass.LINT), (BUILD_JOB, CiClass.BUILD), (TEST_JOB, CiClass.TESTS)):
        if pattern.search(job):
            return cls
    return CiClass.UNKNOWN


def _exit(job: CiJob, frame: Frame) -> str:
    if job.summary and not frame.framed:
        return job.summary
    step = frame.failing_step
    where = f"the step '{step.title}'" if step else "it"
    return f"{where} exited {frame.exit_code}" if frame.exit_code is not None else f"{where} failed: {frame.complaint}"
