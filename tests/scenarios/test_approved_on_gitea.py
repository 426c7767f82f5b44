"""A person's review on a real Gitea: who may write sends back and approves, anybody else is not heard."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from damascus.trial_forge.server import GiteaServer
from tests.engine.shell_stories import good
from tests.scenarios.on_gitea import GiteaYard

PASSWORD = "a-password-of-the-test-1"


def person(site: GiteaYard, *, writes: bool) -> str:
    name = f"p{uuid4().hex[:8]}"
    account = {
        "username": name,
        "email": f"{name}@example.invalid",
        "password": PASSWORD,
        "must_change_password": False,
    }
    site.server.api("POST", "/admin/users", account)
    if writes:
        site.api("PUT", f"/collaborators/{name}", {"permission": "write"})
    return name


def reviews(site: GiteaYard, name: str, event: str, body: str = "") -> None:
    [pull] = site.pulls("one")
    said: dict[str, Any] = {"event": event, "body": body, "commit_id": pull["head"]["sha"]}
    path = f"{site.server.url}/api/v1/repos/{site.path}/pulls/{pull['number']}/reviews"
    httpx.post(path, json=said, auth=(name, PASSWORD), trust_env=False).raise_for_status()


@pytest.mark.req("D10", "D9")
def test_reviews_of_people_who_may_write_decide(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea, retry='[review]\napproval = "person"')
    site.add_good("one")
    site.tries["one"] = [good("one", **{"one.sh": "echo hello   one\n"}), good("one")]
    site.go()
    assert site.item("one")["phase"] == "blocked" and len(site.questions()) == 1

    reviews(site, person(site, writes=False), "APPROVED")
    site.go()
    assert site.item("one")["phase"] == "blocked", "on a public repository anybody can press that button"

    carol = person(site, writes=True)
    reviews(site, carol, "REQUEST_CHANGES", "one blank is enough")
    agent = site.go()
    assert "one blank is enough" in agent.given[0][1]
    assert (site.item("one")["phase"], len(site.questions())) == ("blocked", 1)

    reviews(site, carol, "APPROVED", "fine")
    site.go()
    site.check("one")
    [approved] = site.events("one", "story.approved")
    assert (approved["body"]["by"], approved["body"]["where"]) == (carol, "pull request")

    assert "feat/one" not in site.branches(), "the story is on main: its branch is gone"
    pull = site.tools().forge.find_pull("feat/one")
    assert pull is not None and (pull.state, pull.head) == ("merged", "feat/one")


def test_a_branch_stays_where_the_project_wants_it(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea)
    text = (site.repo / "damascus.toml").read_text().replace("[forge]\n", "[forge]\ndelete_branches = false\n")
    site.commit({"damascus.toml": text}, "branches stay")
    site.push_main()
    site.add_good("one")
    site.go()
    site.check("one")
    assert "feat/one" in site.branches()
