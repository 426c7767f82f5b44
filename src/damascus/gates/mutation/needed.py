"""Which lines a requirement's tests need: with a mutant there, one of them failed. It costs no run of its own."""

from collections.abc import Iterable

from damascus.domain.requirement_lines import KnownBy, RequirementLines
from damascus.gates.mutation.examination import Examination
from damascus.gates.mutation.trials import MutantTrial


def needed_lines(done: Examination, trials: Iterable[MutantTrial]) -> list[RequirementLines]:
    """By tests that are known by name. That one fails when a function raises shows no more than that it ran."""
    noticed = [one for one in trials if one.killed and one.answers]
    found = []
    for need in done.requirements:
        names = {name for test in done.tests_naming(need.id) for name in (test, test.partition("[")[0])}
        lines: dict[str, set[int]] = {}
        for path, of in (_place(one) for one in noticed if names.intersection(one.died)):
            lines.setdefault(path, set()).update(of)
        found += [RequirementLines.of(need.id, path, of, KnownBy.NOTICED) for path, of in sorted(lines.items())]
    return found


def _place(trial: MutantTrial) -> tuple[str, Iterable[int]]:
    """The function whose body was taken away, or the one line that was changed."""
    if trial.function is not None:
        return trial.function.path, range(trial.function.first_line, trial.function.last_line + 1)
    path, _, line = trial.where.rpartition(":")
    return path, [int(line)]
