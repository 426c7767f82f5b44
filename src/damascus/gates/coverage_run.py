"""One look at what a command runs: a run with a probe, made once for each tree and command.

The mutation gate's control is such a run, of the same command with statements of no effect in the changed functions.
Where it was made, what it saw is taken, and no run is added.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, replace

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, TestRun
from damascus.gates.runs import job
from damascus.stacks.coverage import LinesRun, Measuring

KEPT = 64
Key = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class LineLook:
    """What a run showed. What ran did run, however it ended."""

    run: TestRun
    lines: LinesRun


class Looks:
    """Shared by the gates that look."""

    def __init__(self, runner: EvidenceRunner) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, LineLook] = OrderedDict()

    def keep(self, candidate: Candidate, command: str, look: LineLook) -> None:
        with self._lock:
            self._kept[_key(candidate, candidate.tree, command)] = look
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def at(self, candidate: Candidate, tree: Sha, command: str, label: str, paths: Collection[str]) -> LineLook:
        """Of the stacks of these paths; known, or run now."""
        measuring = Measuring.of(paths)
        with self._lock:
            known = self._kept.get(_key(candidate, tree, command))
        if known is not None and set(measuring.probes) <= known.lines.stacks:
            return known
        run = self._runner.run(replace(job(candidate, tree, command, label), fresh=True, probe=measuring))
        look = LineLook(run, measuring.lines(lambda path: candidate.read(tree, path)))
        self.keep(replace(candidate, tree=tree), command, look)
        return look


def _key(candidate: Candidate, tree: Sha, command: str) -> Key:
    return tree, command, tuple(sorted(candidate.env.items()))
