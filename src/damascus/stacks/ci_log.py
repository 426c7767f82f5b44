"""A CI job's log as its runner wrote it: without stamps and colours, in steps, cut to what matters.

The runners of Gitea, Forgejo and GitHub write one shape: their own head, then for each step `Run …` in a group with its
script, the step's output, and `##[error]Process completed with exit code N.` where it failed. Tests print into the same
text, so a line that looks like the runner's own is believed only where no step of the repository can have printed it,
or where believing it costs the story an attempt rather than saving it one (T1).

Every pattern is tried on one line of bounded length, anchored, without nested repetition: a log is an agent's to write.
"""

import re
from dataclasses import dataclass

HEAD_CHARS = 200_000
TAIL_CHARS = 2_000_000
LONGEST_LINE = 500
MOST_LINES = 30_000
NEAR_THE_END = 5
STAMP = re.compile(r"\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z ?")
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
STEP = re.compile(r"(?:##\[group\]|::group::)Run (.+)|⭐ Run Main (.+)")
END_OF_SCRIPT = re.compile(r"shell: |(?:##\[endgroup\]|::endgroup::)$")
TAKEN = re.compile(r"\S{1,200} received task \d{1,20} of job |Current runner version: |Prepare all required actions")
EXITED = re.compile(r"##\[error\]Process completed with exit code (\d{1,9})\.|exitcode '(\d{1,9})': failure")
ENDED = re.compile(r"(?:🏁 +)?Job (?:failed|succeeded)$|Job '.+' failed$")
COMPLAINT = "##[error]"
SET_UP = re.compile(r"(?:https?://\S{1,200}/)?actions/(?:checkout|cache|setup-[\w-]+)@")


def plain_lines(log: str) -> list[str]:
    """The log's lines as a person reads them; of a huge one its head and its end."""
    if len(log) > HEAD_CHARS + TAIL_CHARS:
        log = f"{log[:HEAD_CHARS]}\n{log[-TAIL_CHARS:]}"
    lines = log.rstrip("\n").split("\n") if log.strip() else []
    if len(lines) > 2 * MOST_LINES:
        lines = [*lines[:MOST_LINES], *lines[-MOST_LINES:]]
    return [_plain(line) for line in lines]


def _plain(line: str) -> str:
    """A progress bar overwrites its line: only what it showed last stays."""
    line = STAMP.sub("", line[: 8 * LONGEST_LINE], count=1)
    line = line.rstrip("\r").rpartition("\r")[2]
    return CONTROL.sub("", ANSI.sub("", line)).rstrip()[:LONGEST_LINE]


@dataclass(frozen=True)
class LogStep:
    """One step: its title, and where its script, its output and its end are."""

    title: str
    script: tuple[str, ...]
    start: int
    end: int

    @property
    def sets_up(self) -> bool:
        """Nothing of the repository runs in it: a checkout, a tool's set-up, or git alone."""
        return SET_UP.match(self.title) is not None or (
            bool(self.script) and all(line.startswith("git ") for line in self.script)
        )


@dataclass(frozen=True)
class Frame:
    """What the runner itself says in a log. `framed` is False for the bare output of a command."""

    lines: tuple[str, ...]
    framed: bool
    steps: tuple[LogStep, ...]
    exited_at: int | None
    complaint: str
    ended: bool

    @property
    def exit_code(self) -> int | None:
        found = EXITED.match(self.lines[self.exited_at]) if self.exited_at is not None else None
        return int(found[1] or found[2]) if found else None

    @property
    def failing_step(self) -> LogStep | None:
        """The last one that exited: an earlier one may be allowed to; else the last one."""
        if self.exited_at is None:
            return self.steps[-1] if self.steps else None
        return next((step for step in reversed(self.steps) if step.start < self.exited_at), None)

    @property
    def failed_in_set_up(self) -> bool:
        """Its failing step and all before it only set up: a step that a test prints comes after the test's own."""
        failing = self.failing_step
        before = [step for step in self.steps if failing and step.start <= failing.start]
        return bool(before) and all(step.sets_up for step in before)

    def failing_part(self) -> tuple[str, ...]:
        """The output of the failing step, to where it failed."""
        step = self.failing_step
        if step is None:
            return self.lines
        end = self.exited_at + 1 if self.exited_at is not None else len(self.lines)
        return self.lines[step.start : max(end, step.start)]


def frame_of(lines: list[str]) -> Frame:
    steps = _steps(lines)
    head = lines[: steps[0].start] if steps else lines
    exits = [n for n, line in enumerate(lines) if EXITED.match(line)]
    return Frame(
        lines=tuple(lines),
        framed=bool(steps) or any(TAKEN.match(line) for line in head),
        steps=steps,
        exited_at=exits[-1] if exits else None,
        complaint=next((line.removeprefix(COMPLAINT) for line in reversed(lines) if line.startswith(COMPLAINT)), ""),
        ended=any(ENDED.match(line) or line.startswith(COMPLAINT) for line in lines[-NEAR_THE_END:]),
    )


def _steps(lines: list[str]) -> tuple[LogStep, ...]:
    starts = [(n, found[1] or found[2]) for n, line in enumerate(lines) if (found := STEP.match(line))]
    ends = [*(number for number, _ in starts[1:]), len(lines)]
    steps = []
    for (start, title), end in zip(starts, ends, strict=False):
        script = next((n for n in range(start + 1, end) if END_OF_SCRIPT.match(lines[n])), start + 1)
        steps.append(LogStep(title, tuple(lines[start + 1 : script]), start, end))
    return tuple(steps)


# ── what matters ──────────────────────────────────────────────────────────────────────────────────────

LAST_LINES = 30
FIRST_LINES = 10
AROUND = 4
MARK = len("… 1000000 lines left out …\n")
SHARES = (0.4, 0.7, 0.85, 0.9, 1.0)
"""How much of the room may be used up to each rank: the end, what is wrong, what is around it, the head, the rest."""
WRONG = re.compile(
    r"(?:FAILED|ERROR|FAIL|FATAL|error|fatal|Error|panic|Traceback|AssertionError|E {3}|\s*--- FAIL|\s*● |\s*✖ |"
    r"not ok |thread '.{1,80}' panicked|##\[error\]|::error)|"
    r".{0,200}(?:\berror\b|\bError:|\bFAILED\b|: fatal|\bTS\d{4}:)"
)


def relevant(log: str, limit: int) -> str:
    """The failing step's output, cut to at most `limit` characters: its end, what is told as wrong, its head."""
    lines = frame_of(plain_lines(log)).failing_part()
    if sum(len(line) + 1 for line in lines) <= limit:
        return "\n".join(lines)
    return _shown(lines, _chosen(lines, limit))[-limit:]


def _chosen(lines: tuple[str, ...], limit: int) -> set[int]:
    chosen: set[int] = set()
    used = MARK
    for numbers, share in zip(_ranks(lines), SHARES, strict=True):
        for number in numbers:
            near = {number - 1, number + 1} & chosen
            cost = len(lines[number]) + 1 + (0 if near else MARK)
            if number not in chosen and used + cost <= limit * share:
                chosen.add(number)
                used += cost
    return chosen


def _ranks(lines: tuple[str, ...]) -> tuple[list[int], ...]:
    count = len(lines)
    wrong = [number for number, line in enumerate(lines) if WRONG.match(line)]
    around = sorted({near for number in wrong for near in range(max(0, number - AROUND), number + AROUND + 1)})
    backwards = list(range(count - 1, -1, -1))
    return backwards[:LAST_LINES], wrong, [n for n in around if n < count], list(range(count))[:FIRST_LINES], backwards


def _shown(lines: tuple[str, ...], chosen: set[int]) -> str:
    shown, last = [], -1
    for number in [*sorted(chosen), len(lines)]:
        if number > last + 1:
            shown.append(f"… {number - last - 1} lines left out …")
        if number < len(lines):
            shown.append(lines[number])
        last = number
    return "\n".join(shown)
