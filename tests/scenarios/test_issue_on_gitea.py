"""An issue of a real forge becomes a story, and the forge closes it with the story's pull request (X15)."""

from pathlib import Path

import pytest

from damascus.people import importing
from damascus.people.import_issues import plan_issues
from damascus.trial_forge.server import GiteaServer
from tests.engine.shell_stories import good, shell_story
from tests.scenarios.on_gitea import GiteaYard


@pytest.mark.req("X15.4")
def test_an_issue_is_built_and_closed_by_its_pull_request(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea)
    label = site.api("POST", "/labels", {"name": "damascus", "color": "#00aabb"})["id"]
    wanted = site.api("POST", "/issues", {"title": "one", "body": shell_story("one"), "labels": [label]})["number"]
    other = site.api("POST", "/issues", {"title": "An idea", "body": f"as in #{wanted}", "labels": [label]})["number"]
    project = site.app.project(site.repo)
    plan = plan_issues(site.db, project, site.app.environ)
    assert [(one.draft.story, one.rough) for one in plan.queued] == [("one", False), (f"issue-{other}", True)]
    importing.carry_out(site.db, project, plan)
    assert plan_issues(site.db, project, site.app.environ).queued == []

    site.tries = {"one": [good("one")]}
    site.go()
    site.check("one")
    [pull] = site.pulls("one")
    assert f"Closes #{wanted}" in pull["body"]
    assert site.api("GET", f"/issues/{wanted}")["state"] == "closed"
    assert site.api("GET", f"/issues/{other}")["state"] == "open"
    later = plan_issues(site.db, project, site.app.environ)
    assert [one.draft.story for one in later.stories] == [f"issue-{other}"] and later.queued == []
