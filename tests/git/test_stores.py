"""What agents may read has main's history and nothing else; everything of stories lies in a store of its own."""

import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha, StoryId
from damascus.domain.scope import Scope
from damascus.git import stores
from damascus.git.mirror import Mirror, RefMove
from damascus.git.snapshots import Snapshots
from tests.git.repos import S1, Project, commit, git, repository

SECRET = b"hunter2-of-another-story"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, all_branches=False)


def readable(mirror: Mirror) -> bytes:
    """Everything that an agent finds in the mirror: files, and the content of every object."""
    args = ["git", "-C", str(mirror.path), "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    objects = subprocess.run(args, capture_output=True, check=True).stdout
    return objects + b"".join(path.read_bytes() for path in mirror.path.rglob("*") if path.is_file())


def names(mirror: Mirror) -> str:
    return "\n".join(str(path.relative_to(mirror.path)) for path in mirror.path.rglob("*") if path.is_file())


def work_of_a_story(project: Project) -> Sha:
    """A snapshot with an ignored file, a candidate on a branch, a fence, a queue branch."""
    space = project.workspaces.create(StoryId("S-9"), project.main)
    (space.path / "src/app.py").write_bytes(b"# " + SECRET)
    (space.path / ".env").write_bytes(SECRET)
    saved = Snapshots(project.mirror).save(space.path, StoryId("S-9"), run_no=1, step="x", fence=1, base=project.main)
    assert saved is not None
    project.workspaces.collect(space)
    moves = [RefMove(f"refs/{name}/S-9", saved.commit, None) for name in ("heads/feat", "damascus/fence", "heads/q")]
    project.mirror.update_refs(moves)
    return saved.commit


@pytest.mark.req("W9", "D4")
def test_the_mirror_shows_nothing_of_stories_and_of_other_branches(project: Project) -> None:
    git(project.repo, "branch", "private")
    git(project.repo, "checkout", "-q", "private")
    commit(project.repo, {"draft": b"draft-" + SECRET})
    git(project.repo, "checkout", "-q", "main")
    work_of_a_story(project)
    project.mirror.fetch()
    project.mirror.fetch_main("main")
    project.mirror.gc()
    assert SECRET not in readable(project.mirror)
    assert "S-9" not in names(project.mirror) and ".lock" not in names(project.mirror)
    assert git(project.mirror.path, "for-each-ref", "--format=%(refname)") == "refs/remotes/origin/main"
    assert SECRET in project.mirror.git.run("cat-file", "--batch-all-objects", "--batch").raw, "the control"


@pytest.mark.req("D3", "D4")
def test_a_further_attempt_needs_nothing_of_the_store(project: Project) -> None:
    """Its own earlier work is there as files; its git works without an object of it."""
    saved = work_of_a_story(project)
    tree = project.mirror.tree(saved)
    space = project.workspaces.recreate(S1, project.main, tree, Scope(["src/**"]))
    assert (space.path / ".git/objects/info/alternates").read_text() == f"{project.mirror.path}/objects\n"
    aside = project.mirror.store.rename(project.mirror.store.with_name("hidden"))
    try:
        assert git(space.path, "status", "--porcelain") == "M src/app.py"
        assert SECRET.decode() in git(space.path, "diff")
        git(space.path, "commit", "-qam", "mine")
        git(space.path, "stash", "list")
        assert len(git(space.path, "log", "--format=%H").splitlines()) == 2
        git(space.path, "fsck", "--full", "--strict")
    finally:
        aside.rename(project.mirror.store)


@pytest.mark.req("D4", "D15")
def test_gc_keeps_what_stories_borrow_of_a_main_that_was_rewritten(project: Project) -> None:
    """The base of an open story is no longer on main, and old enough for every rule of git's to forget it."""
    commit(project.repo, {"big.txt": "only on the main that was\n" * 50})
    project.mirror.fetch_main("main")
    old = project.main
    work_of_a_story(project)
    space = project.workspaces.create(S1, old)
    project.mirror.gc()
    git(project.repo, "reset", "-q", "--hard", "HEAD~1")
    commit(project.repo, {"other": "1"})
    project.mirror.fetch_main("main")
    for file in project.mirror.path.joinpath("objects").rglob("*"):
        os.utime(file, (1, 1))
    project.mirror.gc()
    project.mirror.gc()
    project.mirror.git.run("fsck", "--full", "--strict", "--connectivity-only")
    assert b"only on the main" in (project.mirror.read(old, "big.txt") or b"")
    git(space.path, "fsck", "--full", "--strict")


# ── a data folder of the release before ───────────────────────────────────────────────────────────────


def old_layout(folder: Path, repo: Path) -> Path:
    """As the release before left it: one bare repository with everything in it."""
    mirror = folder / "mirror.git"
    folder.mkdir()
    git(folder, "init", "-q", "--bare", "mirror.git")
    git(mirror, "config", "uploadpack.allowAnySHA1InWant", "true")
    (mirror / "info").mkdir(exist_ok=True)
    (mirror / "info/attributes").write_text(stores.ATTRIBUTES)
    git(mirror, "fetch", "-q", str(repo), "+refs/heads/*:refs/remotes/origin/*")
    work = folder / "work"
    git(folder, "clone", "-q", str(mirror), "work", "-b", "none", check=False)
    git(folder, "clone", "-q", str(repo), "work")
    made = commit(work, {".env": SECRET})
    git(work, "push", "-q", str(mirror), f"{made}:refs/damascus/snapshots/S-9", f"{made}:refs/heads/feat/S-9")
    git(mirror, "pack-refs", "--all")
    shutil.rmtree(work)
    (mirror / "damascus-fetch.lock").write_text("")
    (mirror / "damascus-indexes").mkdir()
    return mirror


@pytest.mark.req("D15", "D4")
@pytest.mark.parametrize("killed", ["before", "after the rename", "before the mirror", "not at all"])
def test_an_older_data_folder_is_divided_by_itself(tmp_path: Path, killed: str) -> None:
    repo = repository(tmp_path / "repo")
    path = old_layout(tmp_path / "home", repo)
    saved = git(path, "rev-parse", "refs/damascus/snapshots/S-9")
    if killed != "before":
        path.rename(stores.beside(path))
    if killed in ("before the mirror", "not at all"):
        stores._borrow(stores.beside(path), path)
    if killed == "not at all":
        stores.make(path)
    for _ in range(2):
        mirror = Mirror.open(path, str(repo))
        mirror.fetch_main("main")
        assert mirror.resolve("refs/damascus/snapshots/S-9") == saved == mirror.resolve("refs/heads/feat/S-9")
        assert mirror.read(Sha(saved), ".env") == SECRET
        assert mirror.main("main") == git(repo, "rev-parse", "main")
        assert SECRET not in readable(mirror) and "S-9" not in names(mirror)
        mirror.gc()
        mirror.git.run("fsck", "--full", "--strict")


# ── damage ────────────────────────────────────────────────────────────────────────────────────────────


def loose(mirror: Mirror, sha: str) -> Path:
    return mirror.path / "objects" / sha[:2] / sha[2:]


def damage(mirror: Mirror, sha: str, how: str) -> None:
    file = loose(mirror, sha)
    file.chmod(0o644)
    lie = b"return 2  # a lie\n"
    content = {
        "garbage": b"\x00" * 40,
        "empty": b"",
        "another object": zlib.compress(b"blob %d\0" % len(lie) + lie),
        "cut": file.read_bytes()[:-3],
    }[how]
    file.write_bytes(content)


@pytest.mark.req("D15", "X4")
@pytest.mark.parametrize("how", ["garbage", "empty", "another object", "cut"])
def test_a_damaged_object_is_brought_again_and_never_judged(project: Project, tmp_path: Path, how: str) -> None:
    blob = git(project.repo, "rev-parse", "main:src/app.py")
    damage(project.mirror, blob, how)
    project.mirror.checkout(project.main, tmp_path / "judged")
    assert (tmp_path / "judged/src/app.py").read_text() == "def f():\n    return 1\n"
    assert project.mirror.read(project.main, "src/app.py") == b"def f():\n    return 1\n"
    project.mirror.git.run("fsck", "--full", "--strict")


@pytest.mark.req("D15")
@pytest.mark.parametrize("what", ["main:src", "main^{tree}", "main"])
def test_a_damaged_tree_or_commit_too(project: Project, what: str) -> None:
    damage(project.mirror, git(project.repo, "rev-parse", what), "another object")
    fresh = Mirror.open(project.mirror.path, str(project.repo))
    assert fresh.read(project.main, "src/app.py") == b"def f():\n    return 1\n"


@pytest.mark.req("D15")
def test_what_can_not_be_brought_one_by_one_is_fetched_as_a_whole(project: Project, tmp_path: Path) -> None:
    """As from a forge, which serves no single blob."""
    blob, tip = git(project.repo, "rev-parse", "main:src/app.py"), project.main
    damage(project.mirror, blob, "another object")
    for objects in (project.mirror.objects, project.mirror.main_objects):
        objects.disk.bring_again = lambda sha: setattr(project.mirror, "distrusted", True)
    with pytest.raises(TransientError, match="damaged"):
        project.mirror.checkout(tip, tmp_path / "judged")
    assert project.mirror.main("main") is None, "so that whoever asks for main fetches it"
    project.mirror.fetch_main("main")
    (tmp_path / "judged").rmdir()
    project.mirror.checkout(tip, tmp_path / "judged")
    assert (tmp_path / "judged/src/app.py").read_text() == "def f():\n    return 1\n"


@pytest.mark.req("D15")
def test_honest_objects_of_every_shape_are_left_alone(project: Project, tmp_path: Path) -> None:
    """Empty, huge, packed, and written by another git with another compression."""
    files = {"empty": b"", "nul": b"\0" * 3, "big": os.urandom(300_000), "\xff odd": b"x"}
    tip = commit(project.repo, files)
    git(project.repo, "-c", "core.compression=9", "repack", "-a", "-d", "-q")
    project.mirror.fetch_main("main")
    project.mirror.checkout(tip, tmp_path / "out")
    assert {name: (tmp_path / "out" / name).read_bytes() for name in files} == files
    assert not list(tmp_path.rglob("damaged"))


@pytest.mark.req("D15")
def test_a_mirror_that_is_gone_is_made_anew(project: Project) -> None:
    tip = project.main
    saved = work_of_a_story(project)
    project.mirror.objects.disk.forget()
    shutil.rmtree(project.mirror.path)
    assert project.mirror.main("main") is None
    project.mirror.fetch_main("main")
    assert project.mirror.main("main") == tip
    assert project.mirror.read(saved, ".env") == SECRET
    project.mirror.git.run("fsck", "--full", "--strict")
