"""What a worker returns: computed from git and the forge, whatever the agent says."""

from pathlib import Path

import pytest

from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun
from damascus.engine.returned import returned
from damascus.people import showing
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

TESTS = "def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 2\n"


@pytest.mark.req("W12")
def test_files_tests_and_ci_come_from_git_and_the_forge(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    base = yard.commit({"old.py": "", "docs/a.md": ""}, "before")
    yard.git("rm", "-q", "old.py")
    head = yard.commit({"new.py": "", "calc.py": "def two(): ...\n", "tests/test_one.py": TESTS}, "after")
    tools = yard.tools()
    tools.forge.main_tip()
    ci = CiRun(sha=head, run_id="17", jobs=[CiJob(name="test", state="success"), CiJob(name="lint", state="failure")])
    found = returned(tools.mirror, Sha(base), Sha(head), ci)
    assert (found.files_created, found.files_deleted) == (["new.py"], ["old.py"])
    assert found.files_modified == ["calc.py", "tests/test_one.py"]
    assert found.tests_added == ["tests/test_one.py::test_two"]
    assert found.ci == ci
    assert found.summary == "files: 1 created, 2 changed, 1 deleted; 1 test added; CI 17: 1 of 2 jobs green"


@pytest.mark.req("W12")
def test_what_landed_meanwhile_is_not_what_the_story_returned(tmp_path: Path, database_url: str) -> None:
    """Main moves while its agent works: the story is rebased on what it did not write. Its row keeps the old base until
    the phase ends, as it does where a person is asked in between."""
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(shell_story("one"))
    start = yard.main()

    def meanwhile(*_: object) -> None:
        yard.commit({"other.txt": "meanwhile\n"}, "a person's commit")

    yard.work(Watched(yard, {"one": [good("one")]}, meanwhile))
    yard.query(f"UPDATE work_items SET base_commit = '{start}' RETURNING id")
    found = showing.shown(yard.app, yard.project, "one").returned
    assert found is not None and found.files_created == ["one.sh", "tests/test_one.sh"]


@pytest.mark.req("W12")
def test_ci_of_another_commit_does_not_count(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    tools = yard.tools()
    tip = tools.forge.main_tip()
    ci = CiRun(sha="a" * 40, run_id="17", jobs=[CiJob(name="test", state="success")])
    found = returned(tools.mirror, tip, tip, ci)
    assert found.ci is None and found.summary == "files: none; 0 tests added; no CI run of this commit"
