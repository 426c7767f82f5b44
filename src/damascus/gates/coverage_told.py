"""What was measured, for others: an LCOV file of the run, and the lines that a requirement's tests run."""

from collections.abc import Iterable, Iterator

from damascus.domain.ports import Candidate
from damascus.gates.coverage_lines import Lines, told
from damascus.gates.coverage_run import LineLook
from damascus.gates.requirements import NOT_YET, names_requirement, texts_of
from damascus.gates.runs import by_told_name, passed_tests
from damascus.stacks.coverage import LinesRun, Statement

LCOV = "coverage.info"


def write_lcov(candidate: Candidate, lines: Lines, seen: LinesRun) -> str:
    candidate.logs.mkdir(parents=True, exist_ok=True)
    file = candidate.logs / LCOV
    file.write_text("".join(_records(lines, seen)), encoding="utf-8", errors="surrogateescape")
    return str(file)


def _records(lines: Lines, seen: LinesRun) -> Iterator[str]:
    for path, every in sorted(lines.files.items()):
        yield f"TN:\nSF:{path}\n"
        yield from (f"DA:{one.line},{int(seen.ran(path, one))}\n" for one in every)
        yield f"LF:{len(every)}\nLH:{sum(seen.ran(path, one) for one in every)}\nend_of_record\n"


def lines_by_requirement(candidate: Candidate, changed: Lines, look: LineLook) -> dict[str, list[str]]:
    """Nothing where the stack can't tell which test ran a line."""
    ran = {
        (path, one): look.lines.tests(path, one) - {""}
        for path, every in changed.files.items()
        for one in every
    }  # fmt: skip
    reported = by_told_name({test for tests in ran.values() for test in tests}, passed_tests(look.run))
    named = {test: " ".join(texts_of(candidate, [name])) for test, name in reported.items()}
    found = {}
    for need in candidate.spec.requirements:
        tests = {test for test, text in named.items() if names_requirement(text, need.id)}
        lines = _by_path(at for at, by in ran.items() if by & tests)
        if lines and need.tag not in NOT_YET:
            found[need.id] = told(lines)
    return found


def _by_path(places: Iterable[tuple[str, Statement]]) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for path, one in places:
        found.setdefault(path, []).append(one)
    return found
