"""Done means on the forge's main, and that is looked at again: a revert there is reported, a loss is an alarm (X4)."""

from pathlib import Path

import pytest

from damascus.engine.maintenance.landed import check_landed
from damascus.trial_forge.server import GiteaServer
from tests.scenarios.on_gitea import GiteaYard


@pytest.mark.req("X4")
def test_a_revert_on_the_forge_is_reported_and_a_main_without_the_story_is_an_alarm(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea)
    start = site.main()
    site.add_good("one")
    site.go()
    site.check("one")
    tools = site.tools()
    assert check_landed(tools) == [] and site.events("one", "story.reverted") == []

    site.git("reset", "-q", "--hard", site.forge_main())
    site.git("revert", "--no-edit", "HEAD")
    site.push_main()
    assert check_landed(tools) == [] and check_landed(tools) == []
    [reverted] = site.events("one", "story.reverted")
    assert "one" in reverted["body"]["message"] and site.questions() == []

    site.git("reset", "-q", "--hard", start)
    site.push_main("--force")
    assert check_landed(tools) == ["one"] and check_landed(tools) == []
    assert len(site.events("one", "story.not_on_main")) == 1
    [question] = site.questions()
    assert site.item("one")["merged_commit"][:7] in question and "is not on main" in question
