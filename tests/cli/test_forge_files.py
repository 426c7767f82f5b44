"""The workflow that `forge try` writes."""

import yaml

from damascus.forges.workflows import read_workflows
from damascus.people.forge_files import Ci, workflow_text


def steps(ci: Ci, job: str) -> list[tuple[str, str]]:
    told = yaml.safe_load(workflow_text(ci, "main", "feat/"))
    return [(step["name"], step["run"]) for step in told["jobs"][job]["steps"]]


def test_each_job_is_set_up_as_the_projects_checkouts_are() -> None:
    ci = Ci({"test": "pytest -q", "lint": "ruff check"}, "python3 -m venv .venv\n.venv/bin/pip install -e .\n")
    for job, command in ci.jobs.items():
        _, setup, test = steps(ci, job)
        assert setup == ("set up", "python3 -m venv .venv\n.venv/bin/pip install -e .\n")
        assert test == (job, f"{command}\n")


def test_without_a_set_up_command_there_is_no_such_step() -> None:
    assert [name for name, _ in steps(Ci({"test": "make test"}), "test")] == ["check out", "test"]
    assert read_workflows({"ci.yml": workflow_text(Ci({"test": "make test"}), "main", "feat/")}).names == ["test"]
