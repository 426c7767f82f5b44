"""What was measured, for others: an LCOV file of the run, and the lines that a requirement's tests run."""

from collections.abc import Iterator

from damascus.domain.ports import Candidate
from damascus.domain.requirement_lines import KnownBy, RequirementLines
from damascus.gates.coverage_lines import Lines
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


def lines_by_requirement(candidate: Candidate, changed: Lines, look: LineLook) -> list[RequirementLines]:
    """Nothing where the stack can't tell which test ran a line."""
    ran = {
        (path, one): look.lines.tests(path, one) - {""}
        for path, every in changed.files.items()
        for one in every
    }  # fmt: skip
    reported = by_told_name({test for tests in ran.values() for test in tests}, passed_tests(look.run))
    named = {test: " ".join(texts_of(candidate, [name])) for test, name in reported.items()}
    found = []
    for need in candidate.spec.requirements:
        tests = {test for test, text in named.items() if names_requirement(text, need.id)}
        if need.tag not in NOT_YET:
            found += _of_requirement(need.id, [at for at, by in ran.items() if by & tests])
    return found


def _of_requirement(ident: str, places: list[tuple[str, Statement]]) -> list[RequirementLines]:
    lines: dict[str, set[int]] = {}
    for path, one in places:
        lines.setdefault(path, set()).update(one.lines)
    return [RequirementLines.of(ident, path, of, KnownBy.RAN) for path, of in sorted(lines.items())]
