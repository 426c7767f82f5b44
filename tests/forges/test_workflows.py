"""What `forge doctor` reads in workflow files."""

import pytest

from damascus.forges.workflows import matches, read_workflows

JOBS = "jobs: {test: {runs-on: [self-hosted, big], steps: []}}"


def on(told: str, branch: str) -> bool:
    found = read_workflows({"ci.yml": f"on: {told}\n{JOBS}"})
    assert found.unreadable == []
    return found.jobs[0].trigger.on_push(branch)


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    ("told", "branch", "starts"),
    [
        ("push", "mq/1", True),
        ("[push, pull_request]", "mq/1", True),
        ("pull_request", "mq/1", False),
        ("{push: null}", "mq/1", True),
        ("{push: {branches: [main]}}", "mq/1", False),
        ("{push: {branches: [main, 'mq/**']}}", "mq/1", True),
        ("{push: {branches: ['**']}}", "mq/a/b", True),
        ("{push: {branches: ['*']}}", "mq/1", False),
        ("{push: {branches: '**'}}", "mq/1", True),
        ("{push: {branches: ['**', '!mq/**']}}", "mq/1", False),
        ("{push: {branches: ['!mq/**', '**']}}", "mq/1", True),
        ("{push: {branches-ignore: [main]}}", "mq/1", True),
        ("{push: {branches-ignore: ['mq/**']}}", "mq/1", False),
        ("{push: {tags: ['v*']}}", "main", False),
        ("{schedule: [{cron: '0 0 * * *'}]}", "main", False),
    ],
)
def test_which_pushes_start_a_job(told: str, branch: str, starts: bool) -> None:
    assert on(told, branch) is starts


@pytest.mark.req("D8")
def test_a_job_is_known_by_the_name_that_ci_reports() -> None:
    text = """
on: push
jobs:
  test: {runs-on: ubuntu-latest}
  lint: {name: "style and types", runs-on: [self-hosted, big]}
  many: {strategy: {matrix: {python: ["3.11", "3.12"]}}, runs-on: "${{ matrix.os }}"}
"""
    found = read_workflows({"ci.yml": text})
    assert found.names == ["test", "style and types", "many (…)"]
    assert found.find("lint") is None
    lint, many = found.find("style and types"), found.find("many (3.12)")
    assert lint is not None and lint.labels == ("self-hosted", "big")
    assert many is not None and found.find("many") is None


@pytest.mark.req("D8")
@pytest.mark.parametrize("text", ["", "on: push", "jobs: [", "words", "on: 3\njobs: {a: {}}", "on: push\njobs: {a: 3}"])
def test_what_is_no_workflow_is_named(text: str) -> None:
    assert len(read_workflows({"odd.yml": text}).unreadable) == 1


@pytest.mark.req("D8")
def test_a_star_stays_within_a_part_of_a_name() -> None:
    assert matches("feat/a", "feat/*") and not matches("feat/a/b", "feat/*") and matches("feat/a/b", "feat/**")
    assert matches("v1.2", "v1.?") and not matches("v1/2", "v1?2")
