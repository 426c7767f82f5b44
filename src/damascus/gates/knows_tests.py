"""Gate knows_tests: code that is no test refers to no test runner, to none of its variables and to none of ours.

Who knows that it is tested can answer for the test. What the base says already is left alone: a file that referred to
a runner before, files beside it, and whatever `[gates] knows_tests` names. Comments that switch coverage or mutation
tools off are refused in added lines. Two more smells are told to people and refuse nobody (suspicions.py).
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from damascus.domain.ports import Candidate, Evidence, Finding, Gate, GateName, GateResult
from damascus.domain.scope import glob_regex
from damascus.domain.verdict import Verdict
from damascus.evidence.diff_paths import is_judge, is_test
from damascus.gates.suspicions import suspicions
from damascus.stacks import stack_of
from damascus.stacks.awareness import references_in

OPT_OUT = re.compile(
    r"#\s*pragma:\s*no[ \t]*(?:cover|mutate|branch)|#\s*mutmut:|(?:istanbul|c8|v8)\s+ignore\b|node:coverage\s+\w+"
    r"|\bStryker\s+disable\b|\bmutants::skip\b|\bcoverage\s*\(\s*off\s*\)|^//go:build\s+(?:ignore|!test)|LCOV_EXCL"
    r"|\bno_coverage\b|\bnocov\b",
    re.IGNORECASE,
)
FOR_USERS = re.compile(
    r"(?:.*/)?(?:testing|pytest_\w+|\w+_(?:pytest|testing)|test(?:ing)?_?(?:utils?|support|helpers?))\.py"
)
"""Modules that a package offers to its users' tests; honest unless the package's own code imports them."""
LOOKED_AT = 2000
LIMIT = 1_000_000
COMMENTS = ("#", "//", "*", "/*", "<!--")
FILE_NAME = re.compile(r"[\w.-]*[Tt]est[\w.-]*\.(?:py|[cm]?[jt]sx?|go|rs)\b")
IN_DATA = re.compile(
    rb"PYTEST_CURRENT_TEST|PYTEST_VERSION|\bNODE_TEST_CONTEXT\b|\bJEST_WORKER_ID\b|\bVITEST(?:_\w+)?\b|\bDAMASCUS_[A-Z]"
    rb"|\bRUST_TEST_\w+|\bNEXTEST\b|RUNNER_(?:REPORTS|ROOT|LINES)"
)
PROSE = frozenset(
    {".md", ".rst", ".adoc", ".toml", ".cfg", ".ini", ".yml", ".yaml", ".lock", ".sh", ".bash", ".html", ".css", ".svg"}
)
BUILD_FILES = frozenset({"Makefile", "makefile", "Dockerfile", "justfile", "Jenkinsfile", ".gitignore", ".env.example"})


class KnowsTests(Gate):
    name = GateName.KNOWS_TESTS

    def check(self, candidate: Candidate) -> GateResult:
        judged, tests = judged_paths(candidate), _test_files(candidate)
        found = [one for path in judged for one in _in_file(candidate, path, tests)]
        found += _data_files(candidate)
        told = list(suspicions(candidate, judged))
        summary = (
            f"{len(found)} lines of code know that they are tested" if found else "no code knows that it is tested"
        )
        evidence = Evidence(gate=self.name, tree=candidate.tree, summary=summary)
        return GateResult(gate=self.name, findings=[_finding(found)] if found else [], evidence=[evidence], notes=told)


def _permitted(candidate: Candidate, path: str) -> bool:
    return any(glob_regex(pattern).fullmatch(path) for pattern in candidate.config.gates.knows_tests)


def judged_paths(candidate: Candidate) -> list[str]:
    return [
        file.path
        for file in candidate.changed
        if file.status != "D"
        and stack_of(file.path) is not None
        and not is_test(candidate, file.path)
        and not is_judge(candidate, file)
        and not _permitted(candidate, file.path)
    ]


def _in_file(candidate: Candidate, path: str, tests: frozenset[str]) -> Iterator[str]:
    now, before = candidate.read(candidate.commit, path) or b"", candidate.read(candidate.base, path) or b""
    known = set(before.decode("utf-8", errors="replace").splitlines())
    for number, line in enumerate(now.decode("utf-8", errors="replace").splitlines(), 1):
        if line not in known and (switched := OPT_OUT.search(line[:1000])):
            yield f"{path}:{number} {switched[0]}"
    yield from _named_tests(path, now, known, tests)
    found = references_in(now, path)
    if found and not references_in(before, path) and not _at_home(candidate, path):
        yield from (f"{path}:{one.line} {one.what}" for one in found)


def _named_tests(path: str, now: bytes, known: set[str], tests: frozenset[str]) -> Iterator[str]:
    """Added lines that name a test file of the tree: whoever reads its test can answer for it."""
    for number, line in enumerate(now.decode("utf-8", errors="replace").splitlines(), 1):
        if line not in known and not line.lstrip().startswith(COMMENTS):
            yield from (f"{path}:{number} {name}" for name in FILE_NAME.findall(line[:1000]) if name in tests)


def _test_files(candidate: Candidate) -> frozenset[str]:
    paths = [path for path in candidate.files(candidate.commit) if is_test(candidate, path)]
    return frozenset(PurePosixPath(path).name for path in paths[:LOOKED_AT])


def _data_files(candidate: Candidate) -> Iterator[str]:
    """Text that may be run: a template, a table, whatever has no known ending. Settings and prose are not looked at."""
    for file in candidate.changed:
        prose = PurePosixPath(file.path).suffix.lower() in PROSE or PurePosixPath(file.path).name in BUILD_FILES
        code = stack_of(file.path) is not None or is_test(candidate, file.path)
        if file.status == "D" or prose or code or _permitted(candidate, file.path):
            continue
        before = candidate.read(candidate.base, file.path) or b""
        now = candidate.read(candidate.commit, file.path) or b""
        if IN_DATA.search(before[:LIMIT]) is None and (met := IN_DATA.search(now[:LIMIT])):
            number = now[: met.start()].count(b"\n") + 1
            yield f"{file.path}:{number} {met[0].decode()}"


def _at_home(candidate: Candidate, path: str) -> bool:
    """Did this file move, do files of the base beside it refer to a runner already, or is it for users' tests only?"""
    folder = str(PurePosixPath(path).parent)
    beside = [file.path for file in candidate.changed if file.status == "D"]
    if folder != ".":
        beside += [one for one in candidate.files(candidate.base) if str(PurePosixPath(one).parent) == folder][
            :LOOKED_AT
        ]
    code = [one for one in beside if stack_of(one) is not None and not is_test(candidate, one)]
    if any(references_in(candidate.read(candidate.base, one) or b"", one) for one in code[:LOOKED_AT]):
        return True
    return FOR_USERS.fullmatch(path) is not None and not _used_by_code(candidate, path)


def _used_by_code(candidate: Candidate, path: str) -> bool:
    name = re.compile(
        rb"(?:from|import)\b[^\n]*\b" + re.escape(PurePosixPath(path).stem.encode()) + rb"\b|import_module"
    )
    others = [one for one in candidate.files(candidate.commit) if one.endswith(".py") and one != path]
    if len(others) > LOOKED_AT:
        return True
    return any(
        name.search(candidate.read(candidate.commit, one) or b"") for one in others if not is_test(candidate, one)
    )


def _finding(found: list[str]) -> Finding:
    message = (
        f"code that is no test refers to a test runner, its variables or its switches: {'; '.join(found[:10])}. "
        "It must do the same whether it is tested or not; a person permits it by path in [gates] knows_tests."
    )
    paths = list(dict.fromkeys(one.rpartition(" ")[0].partition(":")[0] for one in found))
    return Finding(gate=GateName.KNOWS_TESTS, verdict=Verdict.CODE_UNPROVED, message=message, paths=paths)
