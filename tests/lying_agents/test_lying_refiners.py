"""Refiners that write themselves an easy spec, through the command agent's contract: nothing of theirs is built."""

from pathlib import Path

import pytest

from damascus.lab.tale import PYTEST
from tests.yard import CONFIG, Yard

pytestmark = pytest.mark.req("D19", "D6")

ROUGH = """---
story: S-1
title: Numbers
---
Count to one.

## Requirements
- REQ-001: one is 1
"""
FILLED = """

## TDD Plan
One test.

## Test Command
```sh
echo 1 passed
```
"""
HONEST = ROUGH.replace("title: Numbers\n", "title: Numbers\nscope: [calc.py, tests/test_new.py]\n") + FILLED
EASY = HONEST.replace("scope:", "kind: docs\nmay_remove: [tests/]\nscope:").replace("calc.py,", "calc.py, tests/,")
REFINER = CONFIG.replace("[agent]\n", "[agent]\nrefiner = true\n").replace('"none"', f'"{PYTEST} tests"')
AUTO = REFINER.replace("refiner = true\n", 'refiner = true\nrefiner_approval = "auto"\n')
AGENT = """
if os.environ["DAMASCUS_ROLE"] == "spec-refiner":
    pathlib.Path(brief["artifacts"], "spec.md").write_text({spec!r})
else:
    pathlib.Path("calc.py").write_text("def one():\\n    return 2\\n")
    pathlib.Path("tests/test_one.py").unlink(missing_ok=True)
"""


def played(folder: Path, database_url: str, config: str, spec: str) -> Yard:
    yard = Yard(folder, database_url, config=config)
    yard.add(ROUGH, rough=True, budget=1)
    yard.work(yard.agent(AGENT.format(spec=spec)))
    return yard


@pytest.mark.parametrize("config", [REFINER, AUTO], ids=["person", "auto"])
@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (EASY, "kind: docs was set"),
        (HONEST.replace("- REQ-001: one is 1\n", "- REQ-002: it is there\n"), "requirement"),
        (HONEST.replace("title: Numbers", "title: No numbers"), "title"),
        (HONEST.replace("Count to one.", "Count to two."), "before the first heading"),
        (HONEST.replace("scope:", "<<: {kind: docs}\nscope:"), "kind"),
        (HONEST.replace("---\nCount", "---\n---\nkind: docs\n---\nCount"), ""),
    ],
    ids=["an easy kind", "another requirement", "another title", "another wish", "a merged key", "two front matters"],
)
def test_a_refiner_changes_nothing_that_a_person_wrote(
    tmp_path: Path, database_url: str, config: str, lie: str, said: str
) -> None:
    yard = played(tmp_path, database_url, config, lie)
    item = yard.item("S-1")
    assert item["phase"] == "blocked" and item["merged_commit"] is None
    assert said in yard.questions()[0]
    assert yard.on_main("tests/test_one.py") is not None and len(yard.subjects()) == 1


def test_a_test_command_that_runs_no_test_is_shown_to_a_person(tmp_path: Path, database_url: str) -> None:
    yard = played(tmp_path, database_url, REFINER, HONEST)
    assert yard.item("S-1")["resume_phase"] == "spec" and "+ echo 1 passed" in yard.questions()[0]


def test_without_a_persons_word_the_gates_decide_as_ever(tmp_path: Path, database_url: str) -> None:
    yard = played(tmp_path, database_url, AUTO, HONEST)
    assert yard.item("S-1")["phase"] == "blocked" and len(yard.subjects()) == 1
