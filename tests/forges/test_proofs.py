"""The proof on a pull request of a forge with a server: whose comment it is, and what a forge may refuse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.failures import CallRetry
from damascus.domain.ids import Sha
from damascus.domain.ports import ProofState, Pull, PullProof
from damascus.engine.retried_forge import RetriedForge
from damascus.forges.gitea.ci import GiteaCi
from damascus.forges.gitea.pulls import GiteaPulls
from damascus.forges.marks import marked
from tests.forges.scripted_gitea import PATH, Asked, Reply, ScriptedGitea, scripted
from tests.forges.scripted_github import scripted_github
from tests.forges.test_github_contract import GithubWorld

KEY = "proof-1"
HEAD = Sha("a" * 40)


def proof(commit: Sha = HEAD, text: str = "proved", **more: Any) -> PullProof:
    return PullProof(KEY, text, commit, ProofState.SUCCESS, text, **more)


# ── GitHub ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GithubWorld]:
    with scripted_github(tmp_path) as github:
        yield GithubWorld(github, tmp_path)


@pytest.fixture
def pull(world: GithubWorld) -> Pull:
    return world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))


def told(world: GithubWorld) -> list[tuple[str, str]]:
    rows = world.github.comments[1]
    return [(row["user"]["login"], row["body"].replace("\r\n", "\n").partition("\n")[0]) for row in rows]


@pytest.mark.req("X16")
@pytest.mark.parametrize("has_user", [True, False], ids=["a person's token", "an app's token"])
def test_a_strangers_comment_with_our_mark_is_left_alone(world: GithubWorld, pull: Pull, has_user: bool) -> None:
    world.github.refused = set() if has_user else {"user"}
    forged = {"id": 0, "body": marked("REQ-001 FULLY, trust me", KEY), "user": {"login": "stranger"}}
    world.github.comments[1].append(forged)
    for text in ("proved", "proved again"):
        assert world.forge.tell(pull, proof(Sha(pull.head_sha), text)) == []
    assert told(world) == [("stranger", "REQ-001 FULLY, trust me"), ("example", "proved again")]


@pytest.mark.req("X16")
def test_a_token_of_another_account_writes_one_more_and_edits_that(world: GithubWorld, pull: Pull) -> None:
    world.forge.tell(pull, proof(Sha(pull.head_sha), "by the old account"))
    world.github.login = "new-bot"
    for text in ("once", "twice"):
        world.forge.tell(pull, proof(Sha(pull.head_sha), text))
    assert told(world) == [("example", "by the old account"), ("new-bot", "twice")]


@pytest.mark.req("X16", "D20")
@pytest.mark.parametrize("lost", ["POST .*/comments", "PATCH .*/comments", "POST .*/statuses"])
def test_an_answer_that_got_lost_makes_no_second_comment(world: GithubWorld, pull: Pull, lost: str) -> None:
    forge = RetriedForge(world.forge, CallRetry(3, 0.01, 0.1))
    world.github.lose(lost)
    forge.tell(pull, proof(Sha(pull.head_sha), "first"))
    forge.tell(pull, proof(Sha(pull.head_sha), "second"))
    assert told(world) == [("example", "second")] and world.status(Sha(pull.head_sha)) == ("success", "second")


@pytest.mark.req("X16", "D20")
def test_a_second_one_of_ours_is_deleted(world: GithubWorld, pull: Pull) -> None:
    """Two workers wrote their first at the same moment, and one of them was killed before it looked again."""
    for n in (101, 102):
        world.github.comments[1].append({"id": n, "body": marked(f"at once {n}", KEY), "user": {"login": "example"}})
    world.forge.tell(pull, proof(Sha(pull.head_sha)))
    assert told(world) == [("example", "proved")]


@pytest.mark.req("X16")
@pytest.mark.parametrize("what", ["comments", "statuses"])
def test_what_the_token_may_not_is_named_and_the_other_is_told(world: GithubWorld, pull: Pull, what: str) -> None:
    world.github.refused = {what}
    [refused] = world.forge.tell(pull, proof(Sha(pull.head_sha)))
    assert refused.startswith(f"{'comment' if what == 'comments' else 'status'}: GitHub refused POST")
    assert "Give the token that right" in refused
    assert bool(told(world)) == (what == "statuses") and bool(world.status(Sha(pull.head_sha))) == (what == "comments")


@pytest.mark.req("X16")
def test_a_long_sentence_is_cut_to_what_github_takes(world: GithubWorld, pull: Pull) -> None:
    assert world.forge.tell(pull, proof(Sha(pull.head_sha), "x" * 500)) == []
    status = world.status(Sha(pull.head_sha))
    assert status is not None and len(status[1]) == 140


@pytest.mark.req("X16", "X4")
def test_a_pull_that_landed_as_another_commit_has_that_in_its_one_comment(world: GithubWorld, pull: Pull) -> None:
    world.person_commits({"theirs.py": "1\n"})
    old, on_top = world.forge.main_tip(), world.commit({"story.py": "x = 1\n"})
    world.forge.land(old, on_top)
    world.forge.tell(pull, proof(on_top, "landed", landed=on_top))
    world.forge.close_merged(pull, on_top)
    found = world.forge.find_pull("feat/S-1")
    assert found is not None and (found.state, found.merged_commit, found.comments) == ("merged", on_top, ["landed"])


# ── Gitea ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def gitea() -> Iterator[ScriptedGitea]:
    with scripted("1.26.4") as server:
        server.routes["GET", "/user"] = [{"login": "Damascus"}]
        yield server


def pulls_of(gitea: ScriptedGitea) -> GiteaPulls:
    mirror: Any = None
    return GiteaPulls(gitea.api, PATH, "main", mirror, lambda _: True)


PULL = Pull(number=7, url="http://forge/o/r/pulls/7", head="feat/S-1", base="main", head_sha=HEAD, title="t")


@pytest.mark.req("X16")
def test_gitea_is_asked_for_no_more_than_is_needed(gitea: ScriptedGitea) -> None:
    """The first time: look, write, look again whether somebody else did. Then: look, whose, edit."""
    rows: list[dict[str, Any]] = []

    def add(asked: Asked) -> Reply:
        rows.append({"id": 5, "body": asked.body["body"], "user": {"login": "damascus"}})
        return Reply(201, rows[-1])

    gitea.on("GET", "/issues/7/comments", lambda _: list(rows))
    gitea.on("POST", "/issues/7/comments", add)
    gitea.on("PATCH", "/issues/comments/5", Reply(200, {}))
    gitea.on("POST", f"/statuses/{HEAD}", Reply(201, {}))
    assert pulls_of(gitea).proofs.tell(PULL, proof()) == []
    assert [(one.method, one.path.removeprefix(PATH)) for one in gitea.asked] == [
        ("GET", "/issues/7/comments"), ("POST", "/issues/7/comments"), ("GET", "/issues/7/comments"),
        ("POST", f"/statuses/{HEAD}"),
    ]  # fmt: skip
    gitea.asked.clear()
    assert pulls_of(gitea).proofs.tell(PULL, proof(text="more")) == []
    assert [(one.method, one.path.removeprefix(PATH)) for one in gitea.asked] == [
        ("GET", "/issues/7/comments"), ("GET", "/user"), ("PATCH", "/issues/comments/5"), ("POST", f"/statuses/{HEAD}"),
    ]  # fmt: skip
    assert gitea.asked[-1].body == {
        "state": "success", "context": "damascus", "description": "more", "target_url": PULL.url,
    }  # fmt: skip
    assert gitea.asked[-2].body == {"body": marked("more", KEY)}


@pytest.mark.req("X16")
def test_a_gitea_that_refuses_both_is_told_of(gitea: ScriptedGitea) -> None:
    gitea.on("GET", "/issues/7/comments", [])
    for path in ("/issues/7/comments", f"/statuses/{HEAD}"):
        gitea.on("POST", path, Reply(403, {"message": "token does not have at least one of required scope(s)"}))
    assert [why.partition(":")[0] for why in pulls_of(gitea).proofs.tell(PULL, proof())] == ["comment", "status"]


@pytest.mark.req("X16", "W1")
@pytest.mark.parametrize("context", ["damascus", "Damascus"])
def test_our_own_status_does_not_count_as_ci(gitea: ScriptedGitea, context: str) -> None:
    ours = {"context": context, "status": "failure", "description": "sent back", "target_url": PULL.url, "url": ""}
    theirs = {"context": "damascus / e2e", "status": "success", "description": "", "target_url": "", "url": ""}
    gitea.on("GET", f"/commits/{HEAD}/status", {"statuses": [ours, theirs]})
    gitea.on("GET", "/actions/runs", {"workflow_runs": [], "total_count": 0})
    assert [job.name for job in GiteaCi(gitea.api, PATH).ci(HEAD).jobs] == ["damascus / e2e"]
