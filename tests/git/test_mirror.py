"""The mirror: our refs survive, everything is guarded, and nothing of the user's or an agent's config runs."""

import os
import threading
from pathlib import Path

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ports import Stale
from damascus.git import stores
from damascus.git.mirror import Mirror, RefMove
from tests.git.repos import Project, commit, git, planted_program, repository


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# ── fetch ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D4")
def test_fetch_with_prune_never_deletes_our_refs(project: Project) -> None:
    ours = ["refs/damascus/snapshots/S-1", "refs/heads/feat/S-1", "refs/heads/main"]
    project.mirror.update_refs([RefMove(ref, project.main, None) for ref in ours])
    git(project.repo, "branch", "other")
    project.mirror.fetch()
    assert project.mirror.tip("other") == project.main
    git(project.repo, "branch", "-D", "other")
    project.mirror.fetch()
    assert project.mirror.tip("other") is None
    assert set(ours) <= project.mirror.for_each_ref("refs/").keys()


def test_a_mirror_fetch_would_delete_them(project: Project) -> None:
    """The control: what the refspec saves us from."""
    project.mirror.update_refs([RefMove("refs/heads/feat/S-1", project.main, None)])
    project.mirror.git.run("fetch", "--quiet", "--prune", str(project.repo), "+refs/*:refs/*")
    assert project.mirror.resolve("refs/heads/feat/S-1") is None


def test_fetches_at_once_all_succeed(project: Project) -> None:
    for n in range(20):
        git(project.repo, "branch", f"b{n}")
    project.repo.joinpath("more").write_text("x")
    commit(project.repo, {"more": "y"})
    failures: list[BaseException] = []

    def fetch() -> None:
        try:
            Mirror.open(project.mirror.path, str(project.repo)).fetch()
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=fetch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(project.mirror.for_each_ref("refs/remotes/origin/")) == 21


def test_a_lock_that_is_never_freed_is_transient(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "LOCK_LIMIT", 0.1)
    with project.mirror.locked("fetch"), pytest.raises(TransientError, match="locked"):
        project.mirror.fetch()


def test_fetch_of_one_branch_follows_it_and_its_end(project: Project) -> None:
    new = commit(project.repo, {"a": "1"})
    project.mirror.fetch(only="main")
    assert project.main == new
    git(project.repo, "checkout", "-q", "-b", "trunk")
    git(project.repo, "branch", "-D", "main")
    project.mirror.fetch(only="main")
    assert project.mirror.tip("main") is None


def test_a_rewritten_and_packed_main_is_fetched(project: Project) -> None:
    git(project.repo, "commit", "-q", "--amend", "-m", "rewritten")
    git(project.repo, "pack-refs", "--all")
    project.mirror.fetch(only="main")
    assert project.main == git(project.repo, "rev-parse", "main")


def test_a_source_that_is_gone_is_transient(project: Project) -> None:
    project.repo.rename(project.repo.with_name("moved"))
    with pytest.raises(TransientError):
        project.mirror.fetch()


def test_open_at_once_makes_one_mirror(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    opened: list[Mirror] = []
    threads = [
        threading.Thread(target=lambda: opened.append(Mirror.open(tmp_path / "home/m.git", str(repo))))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 5
    assert sorted(os.listdir(tmp_path / "home")) == ["m.git", "stories.git"]


# ── the user's git config ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F13")
def test_the_users_config_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signing with no key, no identity, a template with hooks, an alias, strange merge and diff settings."""
    marker = tmp_path / "ran"
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for hook in ("post-checkout", "reference-transaction", "pre-commit", "post-index-change"):
        planted_program(template, marker).rename(template / hook)
    home = tmp_path / "userhome"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[commit]\n gpgsign = true\n[gpg]\n program = /bin/false\n[user]\n useConfigOnly = true\n"
        f"[init]\n templateDir = {template.parent}\n[core]\n hooksPath = {template}\n autocrlf = true\n"
        "[alias]\n write-tree = !false\n[merge]\n conflictStyle = diff3\n[diff]\n noprefix = true\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template.parent))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    project = Project(tmp_path / "p")
    workspace = project.workspace()
    workspace.path.joinpath("src/new.py").write_text("x = 1\n")
    tree = project.workspaces.collect(workspace)
    done = project.mirror.commit_tree(tree, [project.main], "done")
    project.mirror.update_refs([RefMove("refs/heads/feat/S-1", done, None)])
    assert git(project.mirror.store, "log", "-1", "--format=%an %cn %s", done) == "Damascus Damascus done"
    assert not marker.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a repository of another user")
def test_a_repository_of_another_user_is_fetched(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    for path in [repo, *repo.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    assert "dubious ownership" in _refusal(repo)
    mirror = Mirror.open(tmp_path / "m.git", str(repo))
    mirror.fetch()
    assert mirror.tip("main") is not None


def _refusal(repo: Path) -> str:
    try:
        return git(repo, "status")
    except AssertionError as err:
        return str(err)


def test_a_hook_planted_in_the_mirror_does_not_run(project: Project, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (project.mirror.store / "hooks").mkdir()
    planted_program(tmp_path, marker).rename(project.mirror.store / "hooks/reference-transaction")
    project.mirror.update_refs([RefMove("refs/heads/x", project.main, None)])
    assert not marker.exists()
    git(project.mirror.store, "update-ref", "refs/heads/y", project.main)
    assert marker.exists(), "the control: plain git runs it"


# ── refs ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D4")
def test_update_refs_is_all_or_none_and_guarded(project: Project) -> None:
    first, second = project.main, project.advance({"a": "1"})
    mirror = project.mirror
    mirror.update_refs([RefMove("refs/heads/x", first, None)])
    for stale in (
        RefMove("refs/heads/x", second, None),
        RefMove("refs/heads/x", second, second),
        RefMove("refs/heads/x", None, second),
        RefMove("refs/heads/x", None, None),
        RefMove("refs/heads/none", second, first),
        RefMove("refs/heads/none", None, first),
    ):
        with pytest.raises(Stale):
            mirror.update_refs([RefMove("refs/heads/y", first, None), stale])
    assert mirror.for_each_ref("refs/heads/") == {"refs/heads/x": first}
    mirror.update_refs([RefMove("refs/heads/x", second, first), RefMove("refs/heads/none", None, None)])
    assert mirror.resolve("refs/heads/x") == second
    mirror.update_refs([RefMove("refs/heads/x", None, second)])
    assert mirror.resolve("refs/heads/x") is None


def test_resolve_knows_loose_packed_and_missing_refs(project: Project) -> None:
    blob = project.mirror.write_blob(b"{}")
    project.mirror.update_refs([RefMove("refs/damascus/pulls/1", blob, None)])
    assert project.mirror.resolve("refs/damascus/pulls/1") == blob
    project.mirror.gc()
    assert not (project.mirror.store / "refs/damascus/pulls/1").exists()
    assert project.mirror.resolve("refs/damascus/pulls/1") == blob
    assert project.mirror.resolve("refs/damascus/pulls/2") is None
    assert project.mirror.resolve("--help") is None
