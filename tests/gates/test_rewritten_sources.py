"""What is tested is what lands: a command that changes the story's sources while it judges them is refused."""

from pathlib import Path

import pytest

from tests.gates.judging import CODE, Judging, verdicts

BAD = {"src.py": "def add(a, b):\n    return a - b\n"}
MENDS = """\
from pathlib import Path

code = Path("src.py")
was = code.read_text()
code.write_text(was.replace("a - b", "a + b"))
from src import add


def test_req_001_adds():
    assert add(1, 2) == 3
"""


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("test", "refused"),
    [(MENDS, True), (MENDS + "    code.write_text(was)\n", False), (MENDS.replace("code.write_text(", "str("), False)],
    ids=["rewritten", "restored", "left alone"],
)
def test_a_test_that_mends_the_code_before_it_asks(tmp_path: Path, test: str, refused: bool) -> None:
    judging = Judging.of(tmp_path)
    code = BAD if refused or "code.write_text(was)" in test else CODE
    result = judging.tests(judging.candidate(code | {"tests/test_add.py": test}))
    assert verdicts(result) == (["code_unproved"] if refused else [])
    told = [line for line in result.unverified if "wrote src.py" in line]
    assert bool(told) == ("code.write_text(was)\n" in test and not refused)
