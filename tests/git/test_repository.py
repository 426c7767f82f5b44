"""The user's repository: found from anywhere inside, refused by name where we can't work with it."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError, UsageError
from damascus.git.repository import Repository
from tests.user_repository import UserRepository, git_as_user


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    return UserRepository.create(tmp_path / "calc", {"src/a.py": "a = 1\n"})


# ── discover ──────────────────────────────────────────────────────────────────────────────────────────


def test_found_from_any_folder_inside(user: UserRepository) -> None:
    found = Repository.discover(user.top / "src")
    assert (found.top, found.git_dir) == (user.top, user.top / ".git")


def test_a_linked_worktree_shares_the_git_dir(user: UserRepository, tmp_path: Path) -> None:
    user.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = Repository.discover(tmp_path / "side" / "src")
    assert (found.top, found.git_dir) == (tmp_path / "side", user.top / ".git")


def test_a_separate_git_dir_and_a_symlinked_folder(tmp_path: Path) -> None:
    user = UserRepository.create(tmp_path / "calc", {"a": "1"})
    user.git("init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere.git"))
    (tmp_path / "link").symlink_to(user.top)
    found = Repository.discover(tmp_path / "link")
    assert (found.top, found.git_dir) == (user.top, tmp_path / "elsewhere.git")
    assert found.checked_out_at("main") == user.top


def test_from_inside_the_git_dir(user: UserRepository) -> None:
    assert Repository.discover(user.top / ".git" / "refs").top == user.top


def test_no_folder_no_repository_no_commit_bare_or_broken_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        Repository.discover(tmp_path / "nowhere")
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(DamascusError, match=r"not in a git repository.*git init"):
        Repository.discover(plain)
    git_as_user(plain, "init", "-q", "-b", "main")
    with pytest.raises(DamascusError, match="no commits yet"):
        Repository.discover(plain)
    git_as_user(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(DamascusError, match=r"bare repository.*git clone"):
        Repository.discover(tmp_path / "bare.git")
    (plain / ".git" / "HEAD").unlink()
    with pytest.raises(DamascusError, match="can't read the repository"):
        Repository.discover(plain)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: /nonexistent/x\n")
    with pytest.raises(DamascusError, match="neither a folder nor a file"):
        Repository.discover(broken)


def test_an_unborn_checkout_beside_real_branches_is_fine(user: UserRepository) -> None:
    user.git("checkout", "-q", "--orphan", "empty")
    assert Repository.discover(user.top).main_branch() == "main"


def test_a_repository_of_another_user_is_read(user: UserRepository) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for folder, names, files in os.walk(user.top):
        for name in (*names, *files, "."):
            os.chown(os.path.join(folder, name), 12345, 12345)
    found = Repository.discover(user.top)
    assert found.main_branch() == "main"
    assert found.project_uuid(create=True) == found.project_uuid(create=False)


# ── main ──────────────────────────────────────────────────────────────────────────────────────────────


def test_main_branch_is_the_preferred_or_the_first_known(user: UserRepository) -> None:
    found = Repository.discover(user.top)
    user.git("branch", "develop")
    user.git("branch", "trunk")
    assert found.main_branch() == "main"
    assert found.main_branch("trunk") == "trunk"
    user.git("branch", "-m", "main", "work")
    assert found.main_branch() == "develop"
    user.git("branch", "-D", "develop")
    with pytest.raises(DamascusError, match=r"no branch main or master or develop.*main_branch"):
        found.main_branch()
    with pytest.raises(DamascusError, match="no branch gone"):
        found.main_branch("gone")


def test_tip_of_a_loose_and_of_a_packed_branch(user: UserRepository) -> None:
    found = Repository.discover(user.top)
    assert found.tip("main") == user.at("main")
    user.git("pack-refs", "--all")
    assert found.tip("main") == user.at("main")
    with pytest.raises(DamascusError, match="no branch gone any more"):
        found.tip("gone")


# ── kinds that are refused ────────────────────────────────────────────────────────────────────────────


def test_a_plain_repository_is_not_refused(user: UserRepository) -> None:
    user.commit({".gitattributes": "*.py text\n", "src/.gitattributes": "* -diff\n"})
    Repository.discover(user.top).refuse_unsupported()


def test_shallow_and_partial_clones(user: UserRepository, tmp_path: Path) -> None:
    user.commit({"b": "2"})
    user.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{user.top}"
    git_as_user(tmp_path, "clone", "-q", "--depth=1", url, "shallow")
    with pytest.raises(DamascusError, match=r"shallow clone.*--unshallow"):
        Repository.discover(tmp_path / "shallow").refuse_unsupported()
    git_as_user(tmp_path, "clone", "-q", "--filter=blob:none", url, "partial")
    with pytest.raises(DamascusError, match=r"partial clone.*without --filter"):
        Repository.discover(tmp_path / "partial").refuse_unsupported()


def test_sparse_checkout_also_of_a_linked_worktree(user: UserRepository, tmp_path: Path) -> None:
    user.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git_as_user(tmp_path / "side", "sparse-checkout", "set", "src")
    with pytest.raises(DamascusError, match=r"sparse checkout.*sparse-checkout disable"):
        Repository.discover(tmp_path / "side").refuse_unsupported()
    Repository.discover(user.top).refuse_unsupported()


def test_submodules_and_lfs(user: UserRepository, tmp_path: Path) -> None:
    user.commit({"big/.gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"})
    with pytest.raises(DamascusError, match=r"Git LFS.*migrate export"):
        Repository.discover(user.top).refuse_unsupported()
    other = UserRepository.create(tmp_path / "other", {"x": "1"})
    mine = UserRepository.create(tmp_path / "mine", {"y": "1"})
    mine.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.top), "sub")
    mine.git("commit", "-q", "-m", "sub")
    with pytest.raises(DamascusError, match="submodules"):
        Repository.discover(mine.top).refuse_unsupported()


def test_a_branch_named_like_the_prefix(user: UserRepository) -> None:
    """⚑ with a branch `feat` no branch `feat/S-1` can exist"""
    found = Repository.discover(user.top)
    user.git("branch", "feat")
    with pytest.raises(DamascusError, match=r"branch called feat.*branch_prefix"):
        found.refuse_unsupported()
    found.refuse_unsupported(prefix="story/")
    found.refuse_unsupported(prefix="feat-")
    with pytest.raises(DamascusError, match="branch called feat"):
        found.refuse_unsupported(prefix="feat/deep/")


# ── whose project, whose queue ────────────────────────────────────────────────────────────────────────


def test_the_uuid_moves_with_the_folder(user: UserRepository, tmp_path: Path) -> None:
    found = Repository.discover(user.top)
    assert found.project_uuid(create=False) is None
    made = found.project_uuid(create=True)
    assert made is not None and found.project_uuid(create=True) == made
    user.top.rename(tmp_path / "moved")
    assert Repository.discover(tmp_path / "moved").project_uuid(create=False) == made


def test_eight_inits_at_once_agree_on_one_uuid(user: UserRepository) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: Repository.discover(user.top).project_uuid(create=True), range(8)))
    assert made == {Repository.discover(user.top).project_uuid(create=False)}


def test_a_uuid_that_is_none_is_said_so(user: UserRepository) -> None:
    user.git("config", "damascus.project", "calc")
    with pytest.raises(DamascusError, match=r"not a uuid.*--unset damascus\.project"):
        Repository.discover(user.top).project_uuid(create=True)


def test_a_second_queue_is_refused_until_it_takes_over(user: UserRepository) -> None:
    found = Repository.discover(user.top)
    found.lock_queue("queue-1", "ann@laptop")
    found.lock_queue("queue-1", "ann@laptop")
    with pytest.raises(DamascusError, match=r"another Damascus queue, of ann@laptop") as refused:
        found.lock_queue("queue-2 /srv/my data", "bob@server")
    subprocess.run(str(refused.value).partition("take over: ")[2], shell=True, check=True)
    found.lock_queue("queue-2 /srv/my data", "bob@server")
    assert found.data_folder() == Path("/srv/my data"), "what restore says is what the refusal says"
    assert user.git("config", "damascus.owner") == "bob@server"


# ── where main is checked out ─────────────────────────────────────────────────────────────────────────


def test_where_main_is_checked_out(user: UserRepository, tmp_path: Path) -> None:
    found = Repository.discover(user.top)
    assert found.checked_out_at("main") == user.top
    user.git("checkout", "-q", "--detach")
    assert found.checked_out_at("main") is None
    user.git("worktree", "add", "-q", str(tmp_path / "a worktree"), "main")
    assert found.checked_out_at("main") == tmp_path / "a worktree"
    assert Repository.discover(tmp_path / "a worktree").checked_out_at("main") == tmp_path / "a worktree"


def test_a_bare_repository_is_no_checkout_but_its_worktree_is(user: UserRepository, tmp_path: Path) -> None:
    git_as_user(tmp_path, "clone", "-q", "--bare", str(user.top), "bare.git")
    git_as_user(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = Repository.discover(tmp_path / "side")
    assert found.git_dir == tmp_path / "bare.git"
    assert found.checked_out_at("main") is None
    assert found.checked_out_at("side") == tmp_path / "side"
