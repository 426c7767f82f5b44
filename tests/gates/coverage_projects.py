"""A story in one stack, for gate coverage: its code, tests that run all of it and tests that run less than half."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.ports import GateResult
from damascus.gates.coverage import Coverage
from tests.gates.judging import Judging, verdicts

ALONE = '[test]\ncommand = "none"\n[gates.coverage]\nproject = 0\n'
REFUSED = ["uncovered"]


@dataclass(frozen=True)
class Project:
    command: str
    code: str
    path: str
    test: str
    whole: str
    half: str
    lines: str
    """Those that the smaller tests do not run."""
    base: Mapping[str, str] = field(default_factory=dict)
    opt_out: str = ""
    """Put in front of the code, it would take lines away from a report."""
    packages: bool = False


def judge(judging: Judging, files: Mapping[str, str], command: str, config: str = ALONE) -> GateResult:
    made = judging.candidate(files, command=command, config=config, scope=("**",))
    return Coverage(judging.runner, judging.mirror).check(made)


def check(judging: Judging, project: Project, test: str, code: str = "") -> GateResult:
    return judge(judging, {project.path: code or project.code, project.test: test}, project.command)


def passes_and_goes_back(judging: Judging, project: Project) -> None:
    """Lines that run pass, those that do not are told, and so are all of them where no test calls the code."""
    good = check(judging, project, project.whole)
    assert (verdicts(good), good.unverified) == ([], []), good
    assert "(100 %)" in good.evidence[0].summary and f"SF:{project.path}\n" in Path(good.evidence[0].log).read_text()
    bad = check(judging, project, project.half)
    assert verdicts(bad) == REFUSED and project.lines in bad.findings[0].message, bad
    nobody = check(judging, project, project.half.replace("price(1)", "3").replace("Price(1)", "3"))
    assert verdicts(nobody) == REFUSED, nobody
