"""A story that is built anew: what was proved when it landed needs no red run while its tests stand and are green."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, GateResult, LandedBefore
from damascus.domain.spec import Requirement, Spec
from damascus.domain.tasks import TestContract
from damascus.gates.requirements import Requirements
from damascus.gates.test_contracts import TestContracts
from tests.gates.judging import BASE, CODE, PYTEST, TEST, Judging, verdicts

OLD = TEST["tests/test_add.py"]
NEW = "\ndef test_req_002_negative():\n    import src\n    assert src.sub(2, 1) == 1\n"
MORE = {"src.py": CODE["src.py"] + "\ndef sub(a, b):\n    return a - b\n"}
FIRST, SECOND = Requirement("REQ-001", "adds"), Requirement("REQ-002", "subtracts")


def judged(
    folder: Path,
    files: dict[str, str],
    *,
    was: Requirement = FIRST,
    on_main: dict[str, str] | None = None,
    landed: str = "",
) -> tuple[Judging, Candidate]:
    judging = Judging.of(folder, BASE | CODE | (TEST if on_main is None else on_main))
    found = judging.candidate(MORE | files)
    built = replace(found.spec, requirements=(was,))
    spec: Spec = replace(found.spec, requirements=(FIRST, SECOND), may_change=("tests/test_add.py",))
    before = LandedBefore(Sha(landed or judging.base), built, b"", "S-1.md")
    found = replace(found, spec=spec, landed=before)
    return judging, replace(found, red=judging.red(found))


def asked(folder: Path, files: dict[str, str], **more: object) -> GateResult:
    judging, candidate = judged(folder, files, **more)  # type: ignore[arg-type]
    return Requirements(judging.runner, judging.mirror).check(candidate)


@pytest.mark.req("A3.3", "D7")
def test_what_is_unchanged_is_proved_by_its_old_tests_that_are_green_still(tmp_path: Path) -> None:
    result = asked(tmp_path, {"tests/test_add.py": OLD + NEW})
    assert result.findings == [] and result.unverified == []
    [old] = result.tests_of["REQ-001"]
    [new] = result.tests_of["REQ-002"]
    assert old.proves and not old.red and old.before and new.red and not new.before
    [note] = result.notes
    assert note.startswith("REQ-001: proved when S-1 first landed (") and note.endswith("its tests still green")


@pytest.mark.req("A3.3", "D7")
@pytest.mark.parametrize(
    ("files", "more"),
    [
        ({"tests/test_add.py": OLD + NEW}, {"was": Requirement("REQ-001", "adds two")}),
        ({"tests/test_add.py": OLD.replace("== 3", "> 0") + NEW}, {}),
        ({"tests/test_add.py": OLD.replace("req_001_", "") + NEW}, {}),
        ({"tests/test_add.py": NEW}, {}),
        ({"tests/test_sub.py": NEW}, {"on_main": {"tests/test_add.py": OLD.replace("req_001_", "")}}),
        ({"tests/test_sub.py": NEW}, {"landed": "0" * 40}),
        ({"tests/test_sub.py": NEW, "src.py": MORE["src.py"].replace("a + b", "0"),
          "tests/conftest.py": "import src\nsrc.add = lambda a, b: a + b\n"}, {}),
    ],
    ids=["other text", "test weakened", "no longer named", "test gone", "named by none", "never landed", "helper"],
)  # fmt: skip
def test_whatever_else_stays_unproved(tmp_path: Path, files: dict[str, str], more: dict[str, object]) -> None:
    result = asked(tmp_path, files, **more)
    assert verdicts(result) == ["requirement_untested"] and result.findings[0].requirements == ["REQ-001"]


@pytest.mark.req("A1")
def test_a_line_of_the_contract_is_met_by_the_test_that_met_it_then(tmp_path: Path) -> None:
    judging, candidate = judged(tmp_path, {"tests/test_add.py": OLD + NEW})
    lines = tuple(TestContract(f"TC-{n}", "b", "unit", "tests/test_add.py", PYTEST) for n in (1, 2))
    spec = replace(candidate.spec, contracts=lines)
    result = TestContracts(judging.runner, judging.mirror).check(replace(candidate, spec=spec))
    assert result.findings == [] and [one.met for one in result.contracts] == [True, True]
