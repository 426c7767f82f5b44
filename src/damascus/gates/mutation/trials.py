"""One mutant, one run: the candidate's tree with one file of ours laid over it, in a checkout of its own."""

import re
import shlex
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from os import cpu_count
from pathlib import PurePosixPath
from typing import Literal

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, Probe, TestRun
from damascus.gates.runs import failed_tests, job, passed_tests
from damascus.stacks.mutants import Function, Mutant, edited

Outcome = Literal["killed", "survived", "unviable", "not run"]
AT_ONCE = 4
PATIENCE = 5.0
LEAST_SECONDS = 15.0
SELECTION_LIMIT = 60_000
DIFF_LINES, DIFF_WIDTH = 200, 500
ASSERTED = re.compile(r"^\s{0,20}assert\b|^\w{0,40}Assertion\w{0,40}|^Failed\b|DID NOT (?:RAISE|WARN)")
"""How pytest and unittest begin what an assertion says."""
DOES_NOT_COMPILE = re.compile(
    r"\[(?:build|setup) failed\]|^error(?:\[E\d+\])?: |could not compile|\berror TS\d+|\bSyntaxError\b"
    r"|Transform failed",
    re.MULTILINE,
)


@dataclass(frozen=True)
class MutantTrial:
    """What became of one mutant. `died` are the tests that noticed, by name; `everybody`: the run came to no end."""

    where: str
    operator: str
    outcome: Outcome
    died: tuple[str, ...] = ()
    everybody: bool = False
    run: TestRun | None = None
    selected: tuple[str, ...] | None = None
    function: Function | None = None
    answers: bool = True
    words: str = ""
    """What was put in."""
    diff: str = ""

    @property
    def killed(self) -> bool:
        return self.outcome == "killed"

    @property
    def broke(self) -> bool:
        """Did all who noticed break over it, and nobody by an assertion? Not where a runner tells no reasons."""
        told = {case.id: case.message for case in self.run.cases} if self.run else {}
        reasons = [told.get(test, "") for test in self.died]
        return self.killed and bool(reasons) and all(one and not ASSERTED.search(one) for one in reasons)

    def noticed_by(self, test: str) -> bool:
        """A file that could no longer be collected stands for the tests in it."""
        plain = test.partition("[")[0]
        if self.everybody:
            return self.selected is None or test in self.selected
        return any(one in (test, plain) or ("::" not in one and test.startswith(f"{one}::")) for one in self.died)


@dataclass
class Bench:
    """Runs mutants of one candidate with one command, as long as there is time."""

    runner: EvidenceRunner
    candidate: Candidate
    command: str
    green: TestRun
    until: float
    label: str = "mutant"
    tree: Sha | None = None
    mute: set[str] = field(default_factory=set)
    """Tests whose failing says nothing: red without a mutant, or flaky."""
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on_base(self) -> "Bench":
        return replace(self, tree=self.candidate.base, label=f"base-{self.label}")

    def laid_over(
        self,
        files: Mapping[str, bytes | None],
        label: str,
        selected: Collection[str] | None = None,
        probe: Probe | None = None,
    ) -> TestRun:
        wanted = job(self.candidate, self.tree or self.candidate.tree, self.command, label)
        env = dict(wanted.env)
        if selected is not None and (options := self._options(selected)):
            env["PYTEST_ADDOPTS"] = f"{env.get('PYTEST_ADDOPTS', '')} {options}".strip()
        limit = max(LEAST_SECONDS, PATIENCE * self.green.seconds * (2 if probe else 1))
        timeout = min(wanted.timeout, limit)
        laid = {**_without_compiled(files), **files}
        return self.runner.run(replace(wanted, files=laid, env=env, timeout=timeout, fresh=True, probe=probe))

    def _options(self, selected: Collection[str]) -> str:
        """pytest runs only these tests, whatever the command names: the others are deselected, by prefix."""
        others = [test for test in (case.id for case in self.green.cases) if test not in selected]
        files = {test.partition("::")[0] for test in selected}
        short = dict.fromkeys(test if test.partition("::")[0] in files else test.partition("::")[0] for test in others)
        safe = [one for one in short if not any(test.startswith(one) for test in selected)]
        words = [f"--deselect={one}" for one in safe] + [f"--ignore={one}" for one in safe if "::" not in one]
        options = " ".join(map(shlex.quote, words))
        return options if len(options) < SELECTION_LIMIT else ""

    @property
    def over(self) -> bool:
        return self.candidate.given_up() or time.monotonic() > self.until

    def try_all(self, wanted: "Iterable[Attempt]") -> list[MutantTrial]:
        """Side by side where there are cores; in the order given, so that what matters most is not cut off."""
        with ThreadPoolExecutor(max(1, min(cpu_count() or 1, AT_ONCE)), thread_name_prefix="mutant") as pool:
            return list(pool.map(self.attempt, list(wanted)))

    def attempt(self, wanted: "Attempt") -> MutantTrial:
        if self.over:
            return wanted.trial("not run", ())
        with self._lock:
            self._count += 1
            label = f"{self.label}-{self._count}"
        run = self.laid_over({wanted.path: wanted.source}, label, wanted.selected)
        if run.timed_out:
            return self._hung(wanted, label)
        return self._judged(wanted, run)

    def _hung(self, wanted: "Attempt", label: str) -> MutantTrial:
        """A hang hangs again while the candidate itself comes to its end; a slow machine is no proof."""
        again = self.laid_over({wanted.path: wanted.source}, f"{label}-again", wanted.selected)
        if not again.timed_out:
            return self._judged(wanted, again)
        plain = self.laid_over({}, f"{label}-plain", wanted.selected)
        if plain.timed_out:
            return wanted.trial("not run", (), run=again)
        return wanted.trial("killed", (), run=again, everybody=True)

    def _judged(self, wanted: "Attempt", run: TestRun) -> MutantTrial:
        died = tuple(test for test in failed_tests(run) if test not in self.mute)
        reported = failed_tests(run) or passed_tests(run)
        if run.exit_code == 0 and not died:
            return wanted.trial("survived", (), run=run)
        if not reported and not wanted.path.endswith(".py") and DOES_NOT_COMPILE.search(run.output):
            return wanted.trial("unviable", (), run=run)
        if not reported:
            return wanted.trial("killed", (), run=run, everybody=True)
        return wanted.trial("killed" if died else "survived", died, run=run)


@dataclass(frozen=True)
class Attempt:
    """A mutant to be run. `selected` are the tests to run it with; None: all that the command runs."""

    where: str
    operator: str
    path: str
    source: bytes
    selected: tuple[str, ...] | None = None
    function: Function | None = None
    answers: bool = True
    words: str = ""
    diff: str = ""

    @classmethod
    def of(cls, function: Function, mutant: Mutant, source: bytes, selected: Collection[str] | None) -> "Attempt":
        chosen = None if selected is None else tuple(sorted(selected))
        mutated = edited(source, [mutant.edit], function.path)
        words, diff = mutant.edit.text.strip(), one_change(source, mutated, function.path)
        return cls(
            function.where, mutant.operator, function.path, mutated, chosen, function, mutant.answers, words, diff
        )  # fmt: skip

    def trial(
        self, outcome: Outcome, died: tuple[str, ...], run: TestRun | None = None, everybody: bool = False
    ) -> MutantTrial:
        return MutantTrial(
            self.where,
            self.operator,
            outcome,
            died,
            everybody,
            run,
            self.selected,
            self.function,
            self.answers,
            self.words,
            self.diff,
        )


def one_change(old: bytes, new: bytes, path: str) -> str:
    """A unified diff of sources that differ in one place, read from both ends: linear, however long they are."""
    before, after = (text.decode("utf-8", "replace").splitlines() for text in (old, new))
    most = min(len(before), len(after))
    head = next((n for n in range(most) if before[n] != after[n]), most)
    tail = next((n for n in range(most - head) if before[-1 - n] != after[-1 - n]), most - head)
    gone, come = before[head : len(before) - tail], after[head : len(after) - tail]
    lines = [f"--- a/{path}", f"+++ b/{path}", f"@@ -{head + 1},{len(gone)} +{head + 1},{len(come)} @@"]
    lines += [f"-{line}" for line in gone[:DIFF_LINES]] + [f"+{line}" for line in come[:DIFF_LINES]]
    return "\n".join(line[:DIFF_WIDTH] for line in lines)


def _without_compiled(files: Iterable[str]) -> dict[str, bytes | None]:
    """Compiled files that set-up may have left beside a source can hide what is laid over it."""
    gone: dict[str, bytes | None] = {}
    for path in map(PurePosixPath, files):
        if path.suffix == ".py":
            for version in (*range(38, 40), *range(310, 316)):
                gone[str(path.parent / "__pycache__" / f"{path.stem}.cpython-{version}.pyc")] = None
            gone[str(path.with_suffix(".pyc"))] = None
    return gone
