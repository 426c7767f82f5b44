"""What is done about each answer of a forge: refusals, trouble on the way, lost replies, both kinds of 405."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import DamascusError, TransientError, UsageError
from damascus.domain.ids import Sha
from damascus.domain.ports import Pull, Stale
from damascus.domain.skip_marks import without_skip_marks
from damascus.forges.access import token
from damascus.forges.address import Address
from damascus.forges.gitea.forge import GiteaForge
from damascus.forges.http import Api
from damascus.git.mirror import Mirror
from damascus.git.remote import Remote
from tests.forges.scripted_gitea import DROPPED, PATH, TOKEN, Asked, Reply, ScriptedGitea, scripted
from tests.user_repository import UserRepository, candidate

LATER = Reply(405, {"message": "Please try again later"})
MERGED = Reply(405, {"message": "The pull request has already been merged"})
OUT_OF_DATE = Reply(409, {"message": "head out of date"})
NOT_ALLOWED = Reply(405, {"message": "User not allowed to merge PR"})
PROTECTING = "#!/bin/sh\necho 'Gitea: Not allowed to push to protected branch main' >&2\nexit 1\n"


@pytest.fixture
def api() -> Iterator[ScriptedGitea]:
    with scripted("1.26.4") as server:
        yield server


class Field:
    """The API is scripted; git is a bare repository whose hook protects main."""

    def __init__(self, folder: Path, api: ScriptedGitea) -> None:
        user = UserRepository.create(folder / "user", {"base.py": "1\n"})
        self.bare, self.api = folder / "forge.git", api
        subprocess.run(["git", "clone", "-q", "--bare", user.top, self.bare], check=True)
        hook = self.bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(PROTECTING)
        hook.chmod(0o755)
        mirror = Mirror.open(folder / "mirror.git", "https://forge.example/o/r")
        self.forge = GiteaForge(Remote(mirror, f"file://{self.bare}", lambda: TOKEN), "main", api.api, PATH)
        self.old = self.forge.main_tip()
        self.new = candidate(mirror, self.old, {"story.py": "1\n"})
        self.api.on("GET", "/pulls/1", self.row())

    @property
    def pull(self) -> Pull:
        return Pull(number=1, url="u", head="feat/S-1", base="main", head_sha=self.new, title="t")

    def row(self, **more: Any) -> dict[str, Any]:
        head = {"ref": "feat/S-1", "sha": self.new, "repo_id": 1}
        base = {"ref": "main", "repo_id": 1}
        told = {"number": 1, "html_url": "u", "title": "t", "body": "b", "state": "open", "merged": False}
        return {**told, "head": head, "base": base, **more}

    def moved(self, to: Sha) -> None:
        """Main moves on the forge itself."""
        mirror = self.forge.mirror
        subprocess.run(["git", "fetch", "-q", mirror.store, to], cwd=self.bare, check=True)
        subprocess.run(["git", "update-ref", "refs/heads/main", to], cwd=self.bare, check=True)

    def merging(self, *answers: object) -> None:
        self.api.on("POST", "/pulls/1/merge", *answers)

    def merged(self, _: Asked) -> object:
        self.moved(self.new)
        return {}

    def tries(self) -> int:
        return len(self.api.calls("POST", "/pulls/1/merge"))


@pytest.fixture
def field(tmp_path: Path, api: ScriptedGitea) -> Field:
    return Field(tmp_path, api)


# ── the guarded merge ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9", "D20")
def test_try_again_later_is_awaited(field: Field) -> None:
    field.merging(LATER, LATER, field.merged)
    field.forge.land(field.old, field.new, field.pull)
    assert field.tries() == 3 and field.forge.landed(field.new)
    sent = field.api.calls("POST", "/pulls/1/merge")[0].body
    assert sent == {"Do": "fast-forward-only", "head_commit_id": field.new}


@pytest.mark.req("D9", "T1")
def test_try_again_later_without_end_is_trouble_outside(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("damascus.forges.gitea.forge.CHECKED_WITHIN", 0.6)
    field.merging(LATER)
    with pytest.raises(TransientError, match="still checks"):
        field.forge.land(field.old, field.new, field.pull)
    assert 2 <= field.tries() <= 4


@pytest.mark.req("D20")
@pytest.mark.parametrize("answer", [MERGED, LATER, OUT_OF_DATE, NOT_ALLOWED])
def test_whatever_the_answer_main_decides(field: Field, answer: Reply) -> None:
    """A lost reply: the merge was done, the second try is refused in some way."""

    def done_before(_: Asked) -> object:
        field.moved(field.new)
        return answer

    field.merging(done_before)
    field.forge.land(field.old, field.new, field.pull)
    assert field.tries() == 1


@pytest.mark.req("D20")
def test_a_dropped_reply_after_the_merge_is_found_by_the_next_try(field: Field) -> None:
    def done(_: Asked) -> object:
        field.moved(field.new)
        return DROPPED

    field.merging(done)
    with pytest.raises(TransientError):
        field.forge.land(field.old, field.new, field.pull)
    field.forge.land(field.old, field.new, field.pull)
    assert field.tries() == 1


@pytest.mark.req("F13")
def test_a_pull_whose_head_moved_is_stale(field: Field) -> None:
    field.merging(OUT_OF_DATE)
    with pytest.raises(Stale, match="out of date"):
        field.forge.land(field.old, field.new, field.pull)


@pytest.mark.req("F13")
def test_a_main_that_moved_while_the_merge_was_refused_is_stale(field: Field) -> None:
    other = candidate(field.forge.mirror, field.old, {"theirs.py": "1\n"})

    def theirs(_: Asked) -> object:
        field.moved(other)
        return LATER

    field.merging(theirs)
    with pytest.raises(Stale):
        field.forge.land(field.old, field.new, field.pull)
    assert field.tries() == 1


@pytest.mark.req("D9")
def test_a_merge_that_is_not_allowed_names_the_right(field: Field) -> None:
    field.merging(NOT_ALLOWED)
    with pytest.raises(DamascusError, match="not allowed to merge"):
        field.forge.land(field.old, field.new, field.pull)
    assert field.tries() == 1


# ── pulls ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9", "D20")
def test_of_two_pulls_the_open_one_is_found_though_the_first_answer_is_the_closed_one(field: Field) -> None:
    closed, fork = field.row(number=1, state="closed"), field.row(number=3)
    fork["head"] = {**fork["head"], "repo_id": 9}
    field.api.on("GET", "/pulls/main/feat/S-1", closed)
    field.api.on("GET", "/issues/2/comments", [])
    listed = [fork, field.row(number=2), field.row(number=4, head={"ref": "feat/S-10", "sha": field.new})]
    field.api.on("GET", "/pulls", lambda asked: listed if asked.query["state"] == "open" else [closed])
    found = field.forge.find_pull("feat/S-1")
    assert found is not None and (found.number, found.state) == (2, "open")


@pytest.mark.req("D9", "D20")
def test_a_duplicate_pull_is_found(field: Field) -> None:
    """Two looked at the same moment: 409, and the text calls the pull's number `issue_id`."""
    told = "pull request already exists for these targets [id: 9, issue_id: 1, head_branch: feat/S-1]"
    field.api.on("POST", "/pulls", Reply(409, {"message": told}))
    field.api.on("GET", "/pulls/main/feat/S-1", Reply(404, {}), field.row())
    field.api.on("GET", "/issues/1/comments", [])
    assert field.forge.open_pull("feat/S-1", "t", "b", field.new).number == 1


@pytest.mark.req("D9", "T1")
def test_a_branch_that_git_has_and_the_api_not_yet_is_trouble_outside(field: Field) -> None:
    subprocess.run(["git", "update-ref", "refs/heads/feat/S-1", field.old], cwd=field.bare, check=True)
    with pytest.raises(TransientError, match="does not know"):
        field.forge.open_pull("feat/S-1", "t", "b", field.new)
    with pytest.raises(LookupError, match="was not pushed"):
        field.forge.open_pull("feat/S-2", "t", "b", field.new)


@pytest.mark.req("D20")
def test_a_dropped_reply_after_a_comment_or_a_pull_does_neither_twice(field: Field) -> None:
    comments: list[dict[str, Any]] = []

    def commented(asked: Asked) -> object:
        comments.append({"id": 1, "body": asked.body["body"]})
        return DROPPED

    field.api.on("POST", "/issues/1/comments", commented)
    field.api.on("GET", "/issues/1/comments", lambda _: comments)
    field.api.on("POST", "/pulls", DROPPED)
    field.api.on("GET", "/pulls/main/feat/S-1", Reply(404, {}), field.row())
    for call in (
        lambda: field.forge.comment(field.pull, "receipt 1", "proved"),
        lambda: field.forge.open_pull("feat/S-1", "t", "b", field.new),
    ):
        with pytest.raises(TransientError):
            call()
        call()
    assert len(field.api.calls("POST", "/pulls")) == 1 and len(comments) == 1
    assert field.forge.open_pull("feat/S-1", "t", "b", field.new).comments == ["proved"], "no page shows the mark"


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("fix: a thing [skip ci]", "fix: a thing (skip ci)"),
        ("[CI Skip] and [no ci]", "(CI Skip) and (no ci)"),
        ("[skip actions][actions skip]", "(skip actions)(actions skip)"),
        ("a\n\nskip-checks: true\nStory: S-1", "a\n\n(skip-checks: true)\nStory: S-1"),
        ("***NO_CI***", "(NO_CI)"),
        ("Changed docs/[skip ci].md", "Changed docs/(skip ci).md"),
        ("[skip] ci, [ci], no ci", "[skip] ci, [ci], no ci"),
    ],
)
def test_no_text_of_ours_keeps_ci_from_running(field: Field, given: str, sent: str) -> None:
    assert without_skip_marks(given) == sent and without_skip_marks(sent) == sent
    field.api.on("POST", "/pulls", Reply(201, field.row(title=sent)))
    field.api.on("GET", "/pulls", [])
    field.api.on("GET", "/issues/1/comments", [])
    assert field.forge.open_pull("feat/S-1", given, "b", field.new).title == sent
    assert field.api.calls("POST", "/pulls")[0].body["title"] == sent


# ── every answer has its name ─────────────────────────────────────────────────────────────────────────


@pytest.mark.req("T1")
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_trouble_on_the_forge_s_side_is_transient(api: ScriptedGitea, status: int) -> None:
    api.on("GET", "/x", Reply(status, {"message": "busy"}, {"Retry-After": "7"}))
    with pytest.raises(TransientError, match=str(status)) as caught:
        api.api.get(f"{PATH}/x")
    assert caught.value.wait == 7.0


@pytest.mark.req("T1")
def test_a_rate_limit_that_says_403_is_transient(api: ScriptedGitea) -> None:
    api.on("GET", "/x", Reply(403, {"message": "limit"}, {"X-RateLimit-Remaining": "0"}))
    with pytest.raises(TransientError):
        api.api.get(f"{PATH}/x")


@pytest.mark.req("T1")
@pytest.mark.parametrize("answer", [DROPPED, Reply(raw=b"<html>sign in</html>"), Reply(raw=b'{"a": 1')])
def test_half_an_answer_or_a_page_in_its_place_is_transient(api: ScriptedGitea, answer: Reply) -> None:
    api.on("GET", "/x", answer)
    with pytest.raises(TransientError):
        api.api.get(f"{PATH}/x")


@pytest.mark.req("T1")
def test_a_forge_that_is_away_is_transient() -> None:
    with scripted("1.26.4") as gone:
        root = gone.api.root
    with pytest.raises(TransientError, match="refused"):
        Api(root, lambda: TOKEN).get("/version")


@pytest.mark.req("D9")
@pytest.mark.parametrize(("status", "named"), [(401, "token"), (403, "write:issue"), (307, "elsewhere.example")])
def test_a_right_that_is_missing_is_one_sentence_without_the_token(api: ScriptedGitea, status: int, named: str) -> None:
    told = {"message": f"token {TOKEN} does not have at least one of required scope(s): [write:issue]"}
    api.on("POST", "/x", Reply(status, told, {"Location": f"https://elsewhere.example/x?{TOKEN}"}))
    with pytest.raises(DamascusError, match=named) as caught:
        api.api.call("POST", f"{PATH}/x")
    assert TOKEN not in str(caught.value)


@pytest.mark.req("W5")
def test_of_a_log_without_measure_the_end_is_kept(api: ScriptedGitea, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("damascus.forges.http.LARGEST", 1000)
    api.on("GET", "/x", Reply(raw=b"begin" + b"-" * 300_000 + b"end"))
    told = api.api.call("GET", f"{PATH}/x").text
    assert len(told) == 1000 and told.endswith("end")


# ── address and token ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("url", "root", "git_url"),
    [
        ("https://git.example/o/r", "https://git.example", "https://git.example/o/r.git"),
        ("https://git.example:3000/o/r.git/", "https://git.example:3000", "https://git.example:3000/o/r.git"),
        ("http://127.0.0.1:3000/below/o/r", "http://127.0.0.1:3000/below", "http://127.0.0.1:3000/below/o/r.git"),
    ],
)
def test_an_address_as_a_browser_shows_it(url: str, root: str, git_url: str) -> None:
    found = Address.parse(url)
    assert (found.root, found.git_url, found.api_path) == (root, git_url, "/repos/o/r")


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    "url", ["", "o/r", "git@git.example:o/r", "https://git.example/o", "https://u:pw@git.example/o/r"]
)
def test_what_is_no_address_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(UsageError, match=r"\[forge\] url") as caught:
        Address.parse(url)
    assert "pw" not in str(caught.value)


@pytest.mark.req("D9")
def test_the_token_comes_from_the_variable_or_the_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    config = ForgeConfig.model_validate({"kind": "gitea", "token_env": "MINE", "token_file": str(file)})
    assert token(config, {"MINE": " one \n"})() == "one"
    with pytest.raises(DamascusError, match="token_file"):
        token(config, {})
    file.write_text("two\n")
    found = token(config, {"MINE": ""})
    assert found() == "two"
    file.write_text("three\n")
    assert found() == "three", "a renewed token holds at once"
    file.write_text("a whole sentence\n")
    with pytest.raises(DamascusError, match="nothing else"):
        found()
    with pytest.raises(UsageError, match="MINE"):
        token(ForgeConfig.model_validate({"kind": "gitea", "token_env": "MINE"}), {})
