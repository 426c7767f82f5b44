"""Landing on the user's repository: exactly the tested commit, and not one edit of theirs lost."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Blocked, Stale
from damascus.git.landing import contains, land
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
from damascus.git.unfinished import MARKER
from tests.user_repository import UserRepository, candidate, counted_git, git_as_user

FILES = {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n", "notes.txt": "mine\n", ".gitignore": ".env\n"}


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    return UserRepository.create(tmp_path / "calc", FILES)


@pytest.fixture
def mirror(user: UserRepository, tmp_path: Path) -> Mirror:
    return user.mirror(tmp_path / "mirror.git")


def landing(user: UserRepository, mirror: Mirror, new: Sha, old: Sha | None = None) -> None:
    land(Repository.discover(user.top), mirror, "main", old or user.at("main"), new)


def story(user: UserRepository, mirror: Mirror) -> Sha:
    return candidate(mirror, user.at("main"), {"src/a.py": "a = 2\n", "src/new.py": "new = 1\n"})


def assert_nothing_left(user: UserRepository) -> None:
    assert not (user.top / ".git" / MARKER).exists()
    assert not [lock for lock in (user.top / ".git").rglob("*.lock") if "objects" not in lock.parts]


# ── main checked out nowhere ──────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F13", "X4")
def test_a_branch_that_is_checked_out_nowhere_moves_and_nothing_else(user: UserRepository, mirror: Mirror) -> None:
    user.git("checkout", "-q", "--detach")
    user.write({"src/a.py": "an edit of mine\n"})
    before, new = user.refs(), story(user, mirror)
    landing(user, mirror, new)
    assert user.refs() == before | {"refs/heads/main": new}
    assert (user.top / "src/a.py").read_text() == "an edit of mine\n"
    assert not (user.top / ".git/FETCH_HEAD").exists()
    user.git("fsck", "--connectivity-only")
    assert_nothing_left(user)


@pytest.mark.req("F13")
def test_a_rebase_of_main_in_progress_is_waited_for(user: UserRepository, mirror: Mirror) -> None:
    new = story(user, mirror)
    user.git("checkout", "-q", "-b", "other")
    user.commit({"src/b.py": "b = 3\n"})
    user.git("checkout", "-q", "main")
    user.commit({"src/b.py": "b = 2\n"})
    old = user.at("main")
    user.git("rebase", "-q", "other", check=False)
    with pytest.raises(Blocked, match="unfinished rebase") as caught:
        landing(user, mirror, candidate(mirror, old_in(mirror, old), {"x": "1"}), old)
    assert not caught.value.needs_person
    assert user.at("main") == old and new != old
    assert_nothing_left(user)


def old_in(mirror: Mirror, commit: Sha) -> Sha:
    mirror.fetch()
    return commit


# ── main checked out ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F13", "X4")
def test_the_users_other_edits_stay(user: UserRepository, mirror: Mirror) -> None:
    """⚑ dirty, staged, untracked and ignored files beside the story's"""
    user.write({"src/b.py": "b = dirty\n", "notes.txt": "staged\n", "untracked": "u\n", ".env": "KEY=1\n"})
    user.git("add", "notes.txt")
    before, new = user.refs(), story(user, mirror)
    landing(user, mirror, new)
    assert user.refs() == before | {"refs/heads/main": new}
    assert user.at("HEAD") == new and user.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert user.status().splitlines() == ["M  notes.txt", " M src/b.py", "?? untracked"]
    assert (user.top / "src/a.py").read_text() == "a = 2\n" and (user.top / ".env").read_text() == "KEY=1\n"
    assert_nothing_left(user)


@pytest.mark.req("F13")
@pytest.mark.parametrize("staged", [False, True])
def test_an_edit_in_the_way_is_named_and_kept(user: UserRepository, mirror: Mirror, staged: bool) -> None:
    user.write({"src/a.py": "a = mine\n"})
    if staged:
        user.git("add", "src/a.py")
    old, new, before = user.at("main"), story(user, mirror), user.status()
    with pytest.raises(Blocked, match=r"src/a\.py has changes of yours.*Commit or stash that file") as caught:
        landing(user, mirror, new)
    assert caught.value.paths == ["src/a.py"] and not caught.value.needs_person
    assert (user.at("main"), user.status()) == (old, before)
    assert_nothing_left(user)
    user.git("stash", "-q")
    landing(user, mirror, new)
    assert user.at("main") == new


@pytest.mark.req("F13")
@pytest.mark.parametrize("path", ["src/new.py", ".env"])
def test_an_untracked_or_ignored_file_in_the_way_is_kept(user: UserRepository, mirror: Mirror, path: str) -> None:
    """⚑ a plain fast-forward overwrites an ignored .env"""
    user.write({path: "precious\n"})
    old = user.at("main")
    new = candidate(mirror, old, {path: "theirs\n", "src/a.py": "a = 2\n"})
    with pytest.raises(Blocked, match=r"git does not track.*Move that file away") as caught:
        landing(user, mirror, new)
    assert caught.value.paths == [path]
    assert (user.top / path).read_text() == "precious\n" and user.at("main") == old
    assert_nothing_left(user)


def test_an_unfinished_merge_of_the_user_is_waited_for(user: UserRepository, mirror: Mirror) -> None:
    user.git("checkout", "-q", "-b", "other")
    user.commit({"src/b.py": "b = 3\n"})
    user.git("checkout", "-q", "main")
    user.commit({"src/b.py": "b = 2\n"})
    mirror.fetch()
    user.git("merge", "-q", "other", check=False)
    before = user.status()
    with pytest.raises(Blocked, match="middle of a merge"):
        landing(user, mirror, story(user, mirror))
    assert user.status() == before
    assert_nothing_left(user)


def test_the_users_own_git_at_work_is_transient(user: UserRepository, mirror: Mirror) -> None:
    lock = user.top / ".git/index.lock"
    lock.touch()
    old, new = user.at("main"), story(user, mirror)
    with pytest.raises(TransientError, match=r"index\.lock"):
        landing(user, mirror, new)
    assert lock.exists() and user.at("main") == old
    lock.unlink()
    landing(user, mirror, new)
    assert user.at("main") == new


@pytest.mark.req("F13")
def test_the_users_hooks_and_merge_settings_have_no_say(user: UserRepository, mirror: Mirror) -> None:
    for name in ("post-merge", "pre-merge-commit", "reference-transaction", "post-checkout"):
        hook = user.top / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{user.top}/hook-ran'\nexit 1\n")
        hook.chmod(0o755)
    user.git("config", "merge.autoStash", "true")
    user.git("config", "merge.verifySignatures", "true")
    user.git("config", "branch.main.mergeOptions", "--no-ff --squash")
    user.git("config", "fetch.prune", "true")
    user.git("config", "protocol.version", "0")
    new = story(user, mirror)
    landing(user, mirror, new)
    assert user.at("main") == new and user.status() == ""


def test_paths_with_odd_names(user: UserRepository, mirror: Mirror) -> None:
    names = ["with space.py", "ünï.py", "-dash.py", 'quo"te.py']
    new = candidate(mirror, user.at("main"), dict.fromkeys(names, "x\n"))
    user.write({"ünï.py": "mine\n"})
    with pytest.raises(Blocked) as caught:
        landing(user, mirror, new)
    assert caught.value.paths == ["ünï.py"]
    (user.top / "ünï.py").unlink()
    landing(user, mirror, new)
    assert user.at("main") == new and user.status() == ""


# ── guarded ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F13", "D20")
@pytest.mark.parametrize("checked_out", [True, False])
def test_a_main_that_moved_is_stale_and_a_second_landing_does_nothing(
    user: UserRepository, mirror: Mirror, checked_out: bool
) -> None:
    old, new = user.at("main"), story(user, mirror)
    moved = user.commit({"theirs": "1\n"})
    if not checked_out:
        user.git("checkout", "-q", "--detach")
    with pytest.raises(Stale):
        landing(user, mirror, new, old)
    assert user.at("main") == moved
    mirror.fetch()
    new = story(user, mirror)
    landing(user, mirror, new)
    landing(user, mirror, new, moved)
    assert user.at("main") == new
    user.git("checkout", "-q", "main")
    on_top = user.commit({"later": "1\n"})
    landing(user, mirror, new, moved)
    assert user.at("main") == on_top
    assert_nothing_left(user)


@pytest.mark.req("X4")
def test_contains(user: UserRepository, mirror: Mirror) -> None:
    repo, first = Repository.discover(user.top), user.at("main")
    new = story(user, mirror)
    assert contains(repo, "main", first)
    assert not contains(repo, "main", new)
    landing(user, mirror, new)
    assert contains(repo, "main", first) and contains(repo, "main", new)
    user.git("reset", "-q", "--hard", first)
    assert not contains(repo, "main", new)


# ── worktrees ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("locked", [False, True])
def test_main_checked_out_in_a_linked_worktree(
    user: UserRepository, mirror: Mirror, tmp_path: Path, locked: bool
) -> None:
    user.git("checkout", "-q", "-b", "work")
    linked = UserRepository(tmp_path / "linked")
    user.git("worktree", "add", "-q", str(linked.top), "main")
    if locked:
        user.git("worktree", "lock", str(linked.top))
    linked.write({"notes.txt": "dirty\n"})
    new = story(user, mirror)
    landing(user, mirror, new)
    assert (linked.at("HEAD"), linked.status()) == (new, " M notes.txt")
    assert user.status() == "" and user.git("symbolic-ref", "--short", "HEAD") == "work"
    assert_nothing_left(user)


def test_a_worktree_that_is_gone_needs_a_person(user: UserRepository, mirror: Mirror, tmp_path: Path) -> None:
    user.git("checkout", "-q", "--detach")
    user.git("worktree", "add", "-q", str(tmp_path / "usb"), "main")
    shutil.rmtree(tmp_path / "usb")
    old, new = user.at("main"), story(user, mirror)
    with pytest.raises(Blocked, match=r"usb, which is not there.*git worktree prune") as caught:
        landing(user, mirror, new)
    assert caught.value.needs_person and user.at("main") == old
    user.git("worktree", "prune")
    landing(user, mirror, new)
    assert user.at("main") == new


def test_main_checked_out_twice_needs_a_person(user: UserRepository, mirror: Mirror, tmp_path: Path) -> None:
    user.git("worktree", "add", "-q", "--force", str(tmp_path / "second"), "main")
    old = user.at("main")
    with pytest.raises(Blocked, match="several folders at once") as caught:
        landing(user, mirror, story(user, mirror))
    assert caught.value.needs_person and user.at("main") == old


def test_a_worktree_of_a_bare_repository(user: UserRepository, mirror: Mirror, tmp_path: Path) -> None:
    git_as_user(tmp_path, "clone", "-q", "--bare", str(user.top), "bare.git")
    git_as_user(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    bare, new = UserRepository(tmp_path / "side"), story(user, mirror)
    landing(bare, mirror, new)
    assert bare.at("main") == new and bare.status() == ""


def test_the_repository_of_another_user(user: UserRepository, mirror: Mirror) -> None:
    """⚑ root on another uid's repository: git calls that dubious ownership"""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    new = story(user, mirror)
    old = user.at("main")
    for folder, names, files in os.walk(user.top):
        for name in (*names, *files, "."):
            os.lchown(os.path.join(folder, name), 12345, 12345)
    landing(user, mirror, new, old)
    assert Repository.discover(user.top).tip("main") == new


# ── cost ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("checked_out", "most"), [(True, 3), (False, 2)])
def test_landing_takes_few_git_processes(
    user: UserRepository, mirror: Mirror, git_calls: Path, checked_out: bool, most: int
) -> None:
    """Landing is the serial section of everything: each process counts."""
    if not checked_out:
        user.git("checkout", "-q", "--detach")
    old, new, repo = user.at("main"), story(user, mirror), Repository.discover(user.top)
    git_calls.write_text("")
    land(repo, mirror, "main", old, new)
    assert len(git_calls.read_text().splitlines()) <= most


@pytest.fixture
def git_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return counted_git(tmp_path, monkeypatch)


def test_two_landings_at_once_never_meet(user: UserRepository, mirror: Mirror) -> None:
    """The marker's lock is held by whoever lands, and by its git if that one is left alone."""
    marker = user.top / ".git" / MARKER
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(1, flush=True);"
         "sys.stdin.read()", str(marker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    old, new = user.at("main"), story(user, mirror)
    with pytest.raises(TransientError, match="another landing"):
        landing(user, mirror, new)
    assert user.at("main") == old
    holder.communicate()
    landing(user, mirror, new)
    assert user.at("main") == new
    assert_nothing_left(user)
