"""Nothing that an agent wrote is lost: every snapshot can be listed and restored."""

import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.ids import StoryId
from damascus.git import contents
from damascus.git.contents import Room
from damascus.git.snapshots import Snapshot, Snapshots
from damascus.git.workspaces import Workspace
from tests.git.repos import S1, Project, as_nobody, counting_git, git, repository, write


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"README.md": "hello\n", "src/app.py": "1\n", ".gitignore": "*.log\n/out/\n/target/\n"})


def saved(project: Project, workspace: Workspace, step: str = "implement", limit_mb: int = 50) -> Snapshot:
    store = Snapshots(project.mirror, limit_mb)
    snapshot = store.save(workspace.path, workspace.story, run_no=2, step=step, fence=7, base=workspace.base)
    assert snapshot is not None
    return snapshot


@pytest.mark.req("D4", "X2")
def test_the_chain_keeps_what_was_deleted_later_and_restore_brings_it_back(project: Project, tmp_path: Path) -> None:
    workspace = project.workspace()
    write(workspace.path, {"src/idea.py": "good idea\n", "notes.log": "ignored\n"})
    first = saved(project, workspace, "red")
    write(workspace.path, {"src/idea.py": None, "notes.log": None, "src/app.py": "2\n"})
    second = saved(project, workspace)
    project.workspaces.remove(S1)
    store = Snapshots(project.mirror)
    assert [snapshot.step for snapshot in store.chain(S1)] == ["implement", "red"]
    assert store.chain(S1) == [second, first]
    assert store.restore(first.commit, tmp_path / "back") == 5
    assert (tmp_path / "back/src/idea.py").read_text() == "good idea\n"
    assert (tmp_path / "back/notes.log").read_text() == "ignored\n"
    assert not (tmp_path / "back/.git").exists()
    assert store.restore(second.commit, tmp_path / "back2") == 3


def test_a_snapshot_tells_where_it_comes_from(project: Project) -> None:
    snapshot = saved(project, project.workspace())
    assert (snapshot.story, snapshot.run_no, snapshot.step, snapshot.fence) == ("S-1", 2, "implement", 7)
    assert snapshot.base == project.main
    assert abs(datetime.now(UTC) - snapshot.taken_at) < timedelta(minutes=1)


def test_the_same_content_makes_no_second_commit(project: Project) -> None:
    workspace = project.workspace()
    first = saved(project, workspace)
    assert saved(project, workspace, "later") == first
    assert len(Snapshots(project.mirror).chain(S1)) == 1


def test_a_missing_folder_has_no_snapshot(project: Project, tmp_path: Path) -> None:
    store = Snapshots(project.mirror)
    (tmp_path / "link").symlink_to("/etc")
    for folder in (tmp_path / "none", tmp_path / "link"):
        assert store.save(folder, S1, run_no=1, step="s", fence=1, base=project.main) is None
    assert store.chain(S1) == [] and store.stories() == []


@pytest.mark.req("X2")
def test_ignored_files_are_kept_and_what_is_left_out_is_listed(project: Project) -> None:
    workspace = project.workspace()
    write(workspace.path, {".env": "1", "a.log": "x" * 600_000, "b.log": "x" * 700_000, "out/result": "1"})
    write(workspace.path, {"node_modules/m/i.js": "1", "target/debug/x": "1", "src/__pycache__/a.pyc": "1"})
    write(workspace.path, {".GIT/x": "1"})
    os.mkfifo(workspace.path / "pipe")
    with open(workspace.path / "giant", "wb") as file:
        file.truncate(Room().file + 1)
    snapshot = saved(project, workspace, limit_mb=1)
    assert {".env", "a.log", "out/result"} <= project.files(snapshot.tree).keys()
    assert not {"b.log", "giant", "node_modules/m/i.js", "target/debug/x"} & project.files(snapshot.tree).keys()
    assert snapshot.left_out == (
        ".GIT (git's own, in disguise)",
        "b.log (ignored, 0.7 MB)",
        "giant (50 MB, more than 50 MB)",
        "node_modules/ (dependencies or cache)",
        "pipe (not a file)",
        "src/__pycache__/ (dependencies or cache)",
        "target/ (dependencies or cache)",
    )


@pytest.mark.req("D4")
def test_a_nested_repository_is_kept_as_files(project: Project, tmp_path: Path) -> None:
    workspace = project.workspace()
    repository(workspace.path / "nested", {"inner.py": "1"})
    snapshot = saved(project, workspace)
    assert "nested/inner.py" in project.files(snapshot.tree)
    Snapshots(project.mirror).restore(snapshot.commit, tmp_path / "back")
    assert (tmp_path / "back/nested/inner.py").read_text() == "1"


def test_control_git_add_loses_a_nested_repository(project: Project) -> None:
    workspace = project.workspace()
    repository(workspace.path / "nested", {"inner.py": "1"})
    git(workspace.path, "add", "-A")
    assert "160000" in git(workspace.path, "ls-files", "-s", "nested")


def test_any_file_name_is_kept_and_restored(project: Project, tmp_path: Path) -> None:
    names = ["new\nline", "\udcff\udcfe.log", "tab\t", "*", "-x"]
    workspace = project.workspace()
    write(workspace.path, {name: name.encode(errors="surrogateescape") for name in names})
    os.mkfifo(workspace.path / "pipe\n\udcff")
    snapshot = saved(project, workspace)
    assert snapshot.left_out == ("pipe\n\udcff (not a file)",)
    Snapshots(project.mirror).restore(snapshot.commit, tmp_path / "back")
    assert set(names) <= set(os.listdir(tmp_path / "back"))


def test_a_file_that_vanishes_during_the_walk_is_no_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = project.workspace()
    write(workspace.path, {"vanishing/x": "1", "stays": "1", "later": "1", "README.md": "2"})
    walk = contents.Walk.contents

    def and_then_some_go(self: contents.Walk) -> contents.Contents:
        found = walk(self)
        write(self.folder, {"vanishing/x": None, "later": None, "README.md": None})
        (self.folder / "vanishing").rmdir()
        return found

    monkeypatch.setattr(contents.Walk, "contents", and_then_some_go)
    snapshot = saved(project, workspace)
    assert project.files(snapshot.tree).keys() == {".gitignore", "src/app.py", "stays"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file that another user may not read")
def test_an_unreadable_file_is_left_out_and_named(project: Project, tmp_path: Path) -> None:
    workspace = project.workspace()
    write(workspace.path, {"secret": "root's", "src/new.py": "1", "closed/x": "1"})
    for path in [*tmp_path.rglob("*"), *tmp_path.parents[:-1], tmp_path]:
        if not path.is_symlink() and path.is_dir() and path.name != "closed":
            path.chmod(path.stat().st_mode | 0o011)
        if tmp_path in (path, *path.parents):
            os.chown(path, 65534, 65534, follow_symlinks=False)
    for name in ("secret", "closed"):
        os.chown(workspace.path / name, 0, 0)
        (workspace.path / name).chmod(0o600)

    def check() -> None:
        snapshot = saved(project, workspace)
        assert snapshot.left_out == ("closed/ (unreadable)", "secret (unreadable)")
        assert "src/new.py" in project.files(snapshot.tree)

    as_nobody(check)


def test_snapshots_at_once_all_get_into_the_chain(project: Project) -> None:
    """A zombie and its heir may both save: neither overwrites the other."""
    folders = [project.workspaces.create(StoryId(f"W-{n}"), project.main).path for n in range(4)]
    failures: list[BaseException] = []

    def save(n: int) -> None:
        write(folders[n], {f"file{n}": "1"})
        try:
            Snapshots(project.mirror).save(folders[n], S1, run_no=n, step="s", fence=n, base=project.main)
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=save, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(snapshot.run_no for snapshot in Snapshots(project.mirror).chain(S1)) == [0, 1, 2, 3]


@pytest.mark.req("D4")
def test_one_ref_per_story_however_many_snapshots(project: Project) -> None:
    workspace = project.workspace()
    for n in range(12):
        write(workspace.path, {"src/app.py": f"{n}\n"})
        saved(project, workspace, f"step {n}")
    store = Snapshots(project.mirror)
    assert len(store.chain(S1)) == 12
    assert list(project.mirror.for_each_ref("refs/damascus/")) == ["refs/damascus/snapshots/S-1"]
    assert store.stories() == ["S-1"]


@pytest.mark.req("D4")
def test_gc_and_a_rewritten_main_lose_neither_snapshot_nor_base(project: Project, tmp_path: Path) -> None:
    base = project.advance({"only here": "1"})
    workspace = project.workspace()
    write(workspace.path, {"src/app.py": "2\n"})
    snapshot = saved(project, workspace)
    git(project.repo, "reset", "-q", "--hard", "HEAD~1")
    project.mirror.fetch()
    project.mirror.git.run("gc", "--quiet", "--prune=now")
    assert project.mirror.read(base, "only here") == b"1"
    assert Snapshots(project.mirror).chain(S1) == [snapshot]
    assert "src/app.py" in project.files(project.workspaces.collect(workspace))


def test_restore_never_overwrites(project: Project) -> None:
    workspace = project.workspace()
    snapshot = saved(project, workspace)
    with pytest.raises(DamascusError, match="not empty"):
        Snapshots(project.mirror).restore(snapshot.commit, workspace.path)


def test_a_snapshot_takes_few_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, calls = counting_git(tmp_path / "bin")
    monkeypatch.setenv("PATH", path)
    project = Project(tmp_path / "p")
    workspace = project.workspace()
    write(workspace.path, {"src/app.py": "2\n"})
    project.workspaces.collect(workspace)
    calls()
    saved(project, workspace)
    assert calls() == ["update-index", "write-tree"]
