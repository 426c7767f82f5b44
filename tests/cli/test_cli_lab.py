"""The benchmark as anybody runs it: what is there, what is played, what it says."""

from collections import Counter
from pathlib import Path

import pytest

from damascus.cli import lab
from damascus.domain.errors import UsageError
from damascus.lab.catalogue import FAMILIES, HONEST, LIES
from damascus.lab.ground import CONFIG
from damascus.lab.play import Outcome, Played, with_default_gates
from damascus.lab.running import STACKS, TaleChoice, chosen
from tests.cli.conftest import Cli
from tests.yard import python

pytestmark = pytest.mark.req("X6")


def test_there_are_enough_of_each_kind_in_every_stack() -> None:
    lies, honest = Counter(lie.stack for lie in LIES), Counter(tale.stack for tale in HONEST.tales)
    assert len(LIES) >= 120 and len(HONEST.tales) >= 30
    assert set(lies) == set(honest) == set(STACKS)
    assert len({family.key for family in (*FAMILIES, HONEST)}) == len(FAMILIES) + 1


def test_one_is_chosen_by_family_stack_and_name() -> None:
    assert {tale.stack for _, tale in chosen(TaleChoice(stack="go"))} == {"go"}
    assert [key for key, _ in chosen(TaleChoice(("works",)))] == ["honest"]
    assert {key for key, _ in chosen(TaleChoice(family="runner"))} == {"runner"}
    assert len(chosen(TaleChoice())) == len(LIES) + len(HONEST.tales)


@pytest.mark.parametrize("choice", [TaleChoice(("no-such-tale",)), TaleChoice(family="x"), TaleChoice(stack="cobol")])
def test_what_is_not_there_is_an_error_that_says_what_is(choice: TaleChoice) -> None:
    with pytest.raises(UsageError, match=r"There are|lab list"):
        chosen(choice)


def test_a_user_has_every_gate() -> None:
    assert "canary" not in with_default_gates(CONFIG) and "mutation" not in with_default_gates(CONFIG)


def test_a_lie_is_caught_and_honest_work_lands(command: Cli) -> None:
    done = command("lab", "run", "works", "writes-no-code-at-all", "asserts-nothing", "--json")
    told = done.json
    assert done.code == 0, done.err
    assert {case["name"]: (case["outcome"], case["verdict"]) for case in told["cases"]} == {
        "works": ("landed", "passed"),
        "writes-no-code-at-all": ("caught", "tests_failed"),
        "asserts-nothing": ("caught", "requirement_untested"),
    }
    assert told["outcomes"] == {"caught": 2, "escaped": 0, "landed": 1, "refused": 0, "not played": 0}


WORKS = """
import pathlib
pathlib.Path("tests").mkdir(exist_ok=True)
pathlib.Path("m.py").write_text("def value():\\n    return 42\\n")
test = "from m import value\\n\\n\\ndef test_REQ_001_value():\\n    assert value() == 42\\n"
pathlib.Path("tests/test_m.py").write_text(test)
"""


def test_an_agent_of_the_users_own_gets_the_stories_and_is_told_what_landed(command: Cli, tmp_path: Path) -> None:
    (tmp_path / "works.py").write_text(WORKS)
    done = command("lab", "run", "works", "--json", "--agent-command", f"{python()} {tmp_path / 'works.py'}")
    assert [(case["outcome"], case["verdict"]) for case in done.json["cases"]] == [("landed", "passed")]
    done = command("lab", "run", "works", "--agent-command", f"{python()} -c pass")
    assert done.code == 0, "an agent of the user's own is not judged"
    assert "1 refused" in done.out and "nothing_changed" in done.out and "An agent of yours" in done.out


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.CAUGHT, 0),
        (Outcome.LANDED, 0),
        (Outcome.ESCAPED, 1),
        (Outcome.REFUSED, 1),
        (Outcome.NOT_PLAYED, 1),
    ],
)
def test_the_exit_code_tells_whether_all_was_as_it_should_be(
    command: Cli, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, code: int
) -> None:
    ((family, tale),) = chosen(TaleChoice(("asserts-nothing",)))
    monkeypatch.setattr(lab, "play_all", lambda *_: [Played(family, tale, outcome, "tests", "tests_failed")])
    done = command("lab", "run", "asserts-nothing")
    assert done.code == code and f"1 {outcome.value}" in done.out
    assert ("asserts-nothing (no-proof, python)" in done.out) == bool(code)
