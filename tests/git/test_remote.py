"""git against a real forge over HTTP: guarded pushes that the server itself refuses, and a token that nobody sees."""

import base64
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import Sha, sha
from damascus.domain.ports import Stale
from damascus.git.mirror import Mirror, RefMove
from damascus.git.remote import Protected, Remote
from damascus.trial_forge.server import GiteaServer
from damascus.trial_forge.settings import free_port
from tests.forges.scripted_gitea import Reply, scripted
from tests.real_forge import Planted, plant
from tests.user_repository import candidate

MAIN, BRANCH, FENCE = "refs/heads/main", "refs/heads/feat/S-1", "refs/damascus/fence/7"


class Place:
    """A repository on the running Gitea and our mirror of it."""

    def __init__(self, server: GiteaServer, folder: Path) -> None:
        self.folder, self.token = folder, server.token
        self.planted: Planted = plant(server, folder, {"base.py": "1\n"})
        mirror = Mirror.open(folder / "mirror.git", self.planted.url)
        self.remote = Remote(mirror, f"{self.planted.url}.git", lambda: self.token)
        self.remote.fetch()
        self.tip = sha(self.planted.tip)

    def commit(self, name: str) -> Sha:
        return candidate(self.remote.mirror, self.tip, {name: "1\n"})

    def at(self, ref: str) -> Sha | None:
        """Looked at past our code."""
        told = self.planted.git("ls-remote", "origin", ref)
        return sha(told.split("\t")[0]) if told else None


@pytest.fixture
def place(real_gitea: GiteaServer, tmp_path: Path) -> Place:
    return Place(real_gitea, tmp_path)


# ── the fence ─────────────────────────────────────────────────────────────────────────────────────────


def inside_its_push(place: Place, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """From now on `script` runs in the middle of each push: the server has told its refs, nothing is sent yet.

    Returns where git's own words are kept.
    """
    real, hooks, said = shutil.which("git"), place.folder / "hooks", place.folder / "said"
    shim = place.folder / "bin" / "git"
    for path, text in (
        (hooks / "pre-push", f"#!/bin/sh\nexport PATH={os.environ['PATH']}\n{script}\n"),
        (
            shim,
            f'#!/bin/bash\nargs=(); for each in "$@"; do [ "$each" = --no-verify ] || args+=("$each"); done\n'
            f'{real} -c core.hooksPath={hooks} "${{args[@]}}" 2> >(tee -a {said} >&2)\n',
        ),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    return said


@pytest.mark.req("D9", "D20", "F13")
def test_gitea_itself_refuses_a_stale_worker_and_without_the_fence_it_would_win(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """⚑ the zombie is already past its own look at the refs when its heir takes over"""
    first, zombie, heir = place.commit("first.py"), place.commit("zombie.py"), place.commit("heir.py")
    start = [RefMove(BRANCH, first, None), RefMove(FENCE, first, None)]
    place.remote.push(start)
    takeover = f"git push --quiet --no-verify --force {place.remote.url} {heir}:{FENCE}"
    said = inside_its_push(place, monkeypatch, takeover)
    with pytest.raises(Stale, match=FENCE):
        place.remote.push([RefMove(BRANCH, zombie, first), RefMove(FENCE, zombie, first)])
    assert "but expected" in said.read_text(), "it was refused here, not on the server"
    assert (place.at(BRANCH), place.at(FENCE)) == (first, heir)

    place.remote.push([RefMove(BRANCH, zombie, first)])
    assert place.at(BRANCH) == zombie, "the control: without the fence ref the zombie wins"


@pytest.mark.req("F13")
def test_a_push_moves_all_or_nothing_and_only_from_what_was(place: Place) -> None:
    first, second = place.commit("first.py"), place.commit("second.py")
    moves = [RefMove(BRANCH, first, None), RefMove(FENCE, first, None)]
    place.remote.push(moves)
    place.remote.push(moves)
    for branch_was, fence_was in ((None, first), (second, first), (first, None), (first, second)):
        with pytest.raises(Stale):
            place.remote.push([RefMove(BRANCH, second, branch_was), RefMove(FENCE, second, fence_was)])
        assert (place.at(BRANCH), place.at(FENCE)) == (first, first)
    place.remote.push([RefMove(BRANCH, None, first), RefMove(FENCE, second, first)])
    place.remote.push([RefMove(BRANCH, None, first)])
    place.remote.push([RefMove(BRANCH, None, None)])
    assert (place.at(BRANCH), place.at(FENCE)) == (None, second)
    with pytest.raises(Stale):
        place.remote.push([RefMove(FENCE, None, None)])


# ── fetch and look ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9")
def test_heads_are_fetched_beside_our_own_refs(place: Place) -> None:
    mirror, first = place.remote.mirror, place.commit("first.py")
    place.remote.push([RefMove(BRANCH, first, None), RefMove(FENCE, first, None)])
    mirror.update_refs([RefMove("refs/damascus/mine", first, None)])
    place.remote.fetch()
    assert mirror.for_each_ref("refs/") == {
        "refs/remotes/origin/main": place.tip,
        "refs/remotes/origin/feat/S-1": first,
        "refs/damascus/mine": first,
    }
    place.planted.git("push", "-q", "origin", f":{BRANCH}")
    place.remote.fetch(only="feat/S-1")
    assert mirror.tip("feat/S-1") is None and mirror.tip("main") == place.tip


@pytest.mark.req("D9")
def test_only_the_refs_that_were_asked_for(place: Place) -> None:
    """A pattern of ls-remote also matches the end of a longer name."""
    place.planted.git("push", "-q", "origin", "HEAD:refs/heads/odd/refs/heads/main")
    assert place.remote.ls_remote(MAIN, BRANCH) == {MAIN: place.tip}
    with pytest.raises(LookupError):
        place.remote.fetch_commit(Sha("0" * 39 + "1"))


# ── refusals and trouble ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9")
def test_a_protected_branch_is_told_apart(place: Place, real_gitea: GiteaServer) -> None:
    rule = {"rule_name": "main", "enable_push": False}
    real_gitea.api("POST", f"/repos/{place.planted.full_name}/branch_protections", rule)
    with pytest.raises(Protected, match="protected branch main"):
        place.remote.push([RefMove(MAIN, place.commit("first.py"), place.tip)])


@pytest.mark.req("D9")
def test_a_wrong_token_is_one_sentence_and_never_a_prompt(place: Place) -> None:
    wrong = replace(place.remote, token=lambda: "a-wrong-token")
    with pytest.raises(DamascusError, match=r"docs/forges\.md") as caught:
        wrong.push([RefMove(BRANCH, place.commit("first.py"), None)])
    assert "a-wrong-token" not in str(caught.value) and place.at(BRANCH) is None


@pytest.mark.req("T1")
def test_a_forge_that_is_away_or_broken_is_transient(place: Place) -> None:
    away = replace(place.remote, url=f"http://127.0.0.1:{free_port()}/o/r.git")
    with pytest.raises(TransientError):
        away.ls_remote(MAIN)
    for status in (429, 500, 502, 503, 504):
        with scripted("1.26.4") as proxy:
            proxy.routes = {("GET", "/o/r.git/info/refs"): [Reply(status, raw=b"bad gateway")]}
            url = f"{proxy.api.root.removesuffix('/api/v1')}/o/r.git"
            for call in (
                lambda url=url: replace(place.remote, url=url).ls_remote(MAIN),
                lambda url=url: replace(place.remote, url=url).fetch(),
                lambda url=url: replace(place.remote, url=url).push([RefMove(BRANCH, place.tip, None)]),
            ):
                with pytest.raises(TransientError):
                    call()


# ── the token ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9")
def test_the_token_is_in_no_argument_address_file_or_word_of_git(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = place.folder / "seen"
    said = inside_its_push(place, monkeypatch, f"for p in /proc/[0-9]*/cmdline; do cat $p; echo; done > {seen}")
    place.remote.push([RefMove(BRANCH, place.commit("first.py"), None)])
    place.remote.fetch()
    secrets = {place.token, base64.b64encode(f"damascus:{place.token}".encode()).decode()}
    shown = seen.read_bytes().decode(errors="replace")
    assert "remote-http" in shown and place.remote.url in shown, "the processes of the push were looked at"
    files = [path.read_bytes() for path in (*place.remote.mirror.path.parent.rglob("*"), said) if path.is_file()]
    for secret in secrets:
        assert secret not in shown and secret not in repr(place.remote)
        assert not any(secret.encode() in content for content in files)


@pytest.mark.req("D9")
def test_the_users_git_config_can_neither_redirect_answer_nor_run_a_hook(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, ran = place.folder / "home", place.folder / "ran"
    (home / "hooks").mkdir(parents=True)
    (home / "hooks/pre-push").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (home / "hooks/pre-push").chmod(0o755)
    root = place.planted.server.url
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {home}/hooks\n\taskPass = "touch {ran};"\n'
        f'[credential]\n\thelper = "!touch {ran};"\n[credential "{root}"]\n\thelper = "!touch {ran};"\n'
        f'[url "file:///nowhere/"]\n\tinsteadOf = {root}\n\tpushInsteadOf = {root}/\n'
        f'[http "{root}"]\n\textraHeader = "Authorization: Basic bm9ib2R5Om5vdGhpbmc="\n'
        "[http]\n\tuserAgent = seen-by-us\n"
    )
    monkeypatch.setenv("HOME", str(home))
    first = place.commit("first.py")
    place.remote.push([RefMove(BRANCH, first, None)])
    place.remote.fetch()
    assert place.at(BRANCH) == first == place.remote.mirror.tip("feat/S-1") and not ran.exists()
    with pytest.raises(DamascusError):
        replace(place.remote, token=lambda: "a-wrong-token").push([RefMove(BRANCH, None, first)])
    assert not ran.exists()
