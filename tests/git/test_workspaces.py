"""A workspace is the agent's; what we take from it is the files, and nothing that it planted ever runs."""

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from damascus.domain.ids import StoryId
from damascus.domain.scope import Scope
from damascus.git.contents import Room, stat_index
from tests.git.repos import S1, Project, as_nobody, git, give_to_nobody, repository, write
from tests.waiting import LONG, eventually


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def collected(project: Project, change: Callable[[Path], object]) -> dict[str, str]:
    """What differs from main, path to content, after an agent did this in a fresh workspace."""
    workspace = project.workspace()
    change(workspace.path)
    tree = project.workspaces.collect(workspace)
    after = project.files(tree)
    before = project.files(project.main)
    gone = {path: "gone" for path in before.keys() - after.keys()}
    return {path: text for path, text in after.items() if before.get(path) != text} | gone


# ── create ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_workspace_is_a_normal_clean_clone_on_the_storys_branch(project: Project) -> None:
    workspace = project.workspace()
    assert workspace.path == project.workspaces.root / "S-1"
    assert git(workspace.path, "status", "--porcelain", "--branch") == "## feat/S-1"
    assert git(workspace.path, "rev-parse", "HEAD") == project.main
    assert git(workspace.path, "remote") == ""
    assert git(workspace.path, "fsck") == ""
    assert (workspace.path / "README.md").read_text() == "hello\n"


def test_an_agent_can_commit_in_it_without_identity_or_key(project: Project, tmp_path: Path) -> None:
    workspace = project.workspace()
    write(workspace.path, {"src/new.py": "x = 1\n"})
    git(workspace.path, "add", "-A")
    git(workspace.path, "-c", "gpg.program=/bin/false", "commit", "-q", "-m", "by the agent")
    assert git(workspace.path, "log", "--format=%s", "-1") == "by the agent"


def test_an_existing_folder_is_never_overwritten(project: Project) -> None:
    workspace = project.workspace()
    write(workspace.path, {"work": "precious"})
    with pytest.raises(FileExistsError):
        project.workspaces.create(S1, project.main)
    assert (workspace.path / "work").read_text() == "precious"
    assert project.workspaces.stories() == ["S-1"]
    assert os.listdir(project.workspaces.root) == ["S-1"]


def test_create_is_quick(project: Project) -> None:
    """Seconds only against a hang; the process count is what makes it quick (test_processes_are_few)."""
    start = time.perf_counter()
    for n in range(5):
        project.workspaces.create(StoryId(f"Q-{n}"), project.main)
    assert time.perf_counter() - start < LONG


# ── collect: what counts is the files ─────────────────────────────────────────────────────────────────────


@pytest.mark.req("D4")
def test_new_changed_deleted_and_executable_files_count(project: Project) -> None:
    def change(folder: Path) -> None:
        write(folder, {"src/new.py": "new", "src/app.py": None, "README.md": "changed"})
        (folder / "README.md").chmod(0o755)
        (folder / "link").symlink_to("/etc/passwd")

    assert collected(project, change) == {
        "src/new.py": "644 new",
        "src/app.py": "gone",
        "README.md": "755 changed",
        "link": "000 /etc/passwd",
    }


@pytest.mark.req("D4")
def test_an_agents_commits_branch_and_index_do_not_matter(project: Project) -> None:
    def change(folder: Path) -> None:
        write(folder, {"committed": "1", "staged": "1", "src/app.py": "hidden change"})
        git(folder, "add", "committed")
        git(folder, "commit", "-q", "-m", "mine")
        git(folder, "add", "staged")
        git(folder, "checkout", "-q", "--orphan", "elsewhere")
        git(folder, "update-index", "--assume-unchanged", "src/app.py")
        git(folder, "update-index", "--skip-worktree", "README.md")
        write(folder, {"staged": "2", "README.md": None})

    expected = {"committed": "644 1", "staged": "644 2", "src/app.py": "644 hidden change", "README.md": "gone"}
    assert collected(project, change) == expected


@pytest.mark.req("D4")
def test_an_agents_gitignore_can_neither_hide_nor_reveal(tmp_path: Path) -> None:
    project = Project(tmp_path, {".gitignore": "*.log\n/out/\n", "sub/.gitignore": "!keep.log\nlocal\n", "a": "1"})

    def change(folder: Path) -> None:
        write(folder, {".gitignore": "*\n!*.log\n", "sub/.gitignore": None, "evil.py": "1", "x.log": "1", "out/y": "1"})
        write(folder, {"sub/keep.log": "1", "sub/local": "1", "deep/.gitignore": "*\n", "deep/file": "1"})
        write(folder, {".git/info/exclude": "*\n"})

    assert collected(project, change).keys() == {
        ".gitignore", "sub/.gitignore", "evil.py", "sub/keep.log", "deep/.gitignore", "deep/file",
    }  # fmt: skip


def test_control_plain_git_is_fooled_by_an_agents_gitignore(project: Project) -> None:
    workspace = project.workspace()
    write(workspace.path, {".git/info/exclude": "*\n", "evil.py": "1"})
    assert git(workspace.path, "status", "--porcelain") == ""


@pytest.mark.req("D4", "X2")
def test_an_ignored_pyc_is_never_in_a_candidate(project: Project, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        write(folder, {"src/__pycache__/app.cpython-311.pyc": "evil", "src/app.pyc": "evil", "src/new.py": "1"})
        write(folder, {"node_modules/x/index.js": "1", ".venv/bin/python": "1", ".pytest_cache/x": "1"})

    assert collected(project, change) == {"src/new.py": "644 1"}
    tree = project.workspaces.collect(project.workspaces.create(StoryId("S-2"), project.main))
    project.mirror.checkout(tree, tmp_path / "clean")
    assert not list((tmp_path / "clean").rglob("*.pyc"))


def test_a_tracked_file_counts_even_where_it_is_ignored(tmp_path: Path) -> None:
    project = Project(
        tmp_path, {".gitignore": "/gen/\n*.log\n", "gen/kept.txt": "1", "kept.log": "1", "node_modules/a": "1"}
    )

    def change(folder: Path) -> None:
        write(folder, {"gen/kept.txt": "2", "gen/new.txt": "2", "kept.log": None, "node_modules/a": "2"})
        write(folder, {"node_modules/b": "2"})

    assert collected(project, change) == {"gen/kept.txt": "644 2", "kept.log": "gone", "node_modules/a": "644 2"}


@pytest.mark.req("D4")
def test_a_nested_repository_is_stored_as_files(project: Project) -> None:
    def change(folder: Path) -> None:
        repository(folder / "nested", {"inner.py": "1", "deep/er.py": "1"})
        git(folder, "init", "-q", "empty")
        write(folder, {"empty/file": "1", "gitfile/.git": "gitdir: /nowhere\n", "gitfile/x": "1"})

    assert collected(project, change) == {
        "nested/inner.py": "644 1",
        "nested/deep/er.py": "644 1",
        "empty/file": "644 1",
        "gitfile/x": "644 1",
    }


def test_names_that_git_takes_for_its_own_are_left_out(project: Project) -> None:
    def change(folder: Path) -> None:
        names = (".GIT/x", "a/.git/x", "git~1", ".git ", ".git.", ".git::$INDEX_ALLOCATION", "b\\.git", "sub/.Git/y")
        write(folder, {name: "1" for name in names} | {".gitx": "1", ".git~1": "1", "c\\d": "1"})

    assert collected(project, change).keys() == {".gitx", ".git~1", "c\\d"}


def test_any_file_name_works(project: Project) -> None:
    names = ["new\nline", "tab\t", "\udcff\udcfe", " lead", "-dash", '"quote"', "*", ":(top)x", "ümlaut", "back\\slash"]

    assert collected(project, lambda folder: write(folder, {name: "1" for name in names})).keys() == set(names)


def test_files_folders_and_links_take_each_others_place(tmp_path: Path) -> None:
    project = Project(
        tmp_path, {"dir/x": "1", "dir2/x": "1", "file": "1", "file2": "1", "file3": "1", ".gitignore": "dir2\n"}
    )

    def change(folder: Path) -> None:
        shutil.rmtree(folder / "dir")
        shutil.rmtree(folder / "dir2")
        (folder / "dir").symlink_to("/etc")
        (folder / "dir2").symlink_to("..")
        write(folder, {"file": None, "file2": None, "file3": None})
        write(folder, {"file/inner": "1"})
        repository(folder / "file2", {"nested": "1"})
        os.mkfifo(folder / "file3")

    assert collected(project, change) == {
        "dir": "000 /etc",
        "dir2": "000 ..",
        "dir/x": "gone",
        "dir2/x": "gone",
        "file": "gone",
        "file2": "gone",
        "file3": "gone",
        "file/inner": "644 1",
        "file2/nested": "644 1",
    }


@pytest.mark.timeout(60)
def test_pipes_and_sockets_stop_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(folder: Path) -> None:
        os.mkfifo(folder / ".gitattributes")
        os.mkfifo(folder / "src/.gitattributes")
        os.mkfifo(folder / "pipe")
        monkeypatch.chdir(folder)
        socket.socket(socket.AF_UNIX).bind("sock")
        write(folder, {"src/new.py": "1"})

    assert collected(project, change) == {"src/new.py": "644 1"}


def test_a_giant_file_is_not_read(project: Project) -> None:
    def change(folder: Path) -> None:
        for name in ("giant", "README.md"):
            with open(folder / name, "wb") as file:
                file.truncate(Room().file * 10_000)

    assert collected(project, change) == {}


def test_an_unreadable_file_of_the_agents_own_is_read(tmp_path: Path) -> None:
    def check() -> None:
        assert collected(project, change) == {"src/new.py": "644 1", "closed/x": "644 1"}

    def change(folder: Path) -> None:
        write(folder, {"src/new.py": "1", "closed/x": "1"})
        (folder / "src/new.py").chmod(0)
        (folder / "closed").chmod(0)

    tmp_path.chmod(0o755)
    project = Project(tmp_path / "p")
    give_to_nobody(tmp_path)
    as_nobody(check)


def test_a_changed_file_of_the_same_size_and_date_is_seen(project: Project) -> None:
    def change(folder: Path) -> None:
        path = folder / "README.md"
        was = path.stat()
        path.write_text("HELLO\n")
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    assert collected(project, change) == {"README.md": "644 HELLO\n"}


def test_a_change_in_the_second_of_the_checkout_is_seen_beside_a_deletion(project: Project) -> None:
    """Git tells such a change by the index's date, so the index must be compared before it is written anew."""
    eventually(lambda: time.time() % 1 < 0.3)
    workspace = project.workspace()
    write(workspace.path, {"README.md": "HELLO\n", "src/app.py": None})
    start = time.time()
    eventually(lambda: int(time.time()) > int(start))
    assert project.files(project.workspaces.collect(workspace)) == {"README.md": "644 HELLO\n"}


def test_collect_works_without_the_kept_index(project: Project) -> None:
    workspace = project.workspace()
    write(workspace.path, {"src/app.py": "2"})
    expected = project.workspaces.collect(workspace)
    stat_index(project.mirror, S1, project.main).unlink()
    assert project.workspaces.collect(workspace) == expected


def test_a_workspace_that_is_gone_or_replaced_by_a_link_is_empty(project: Project) -> None:
    empty = project.mirror.objects.write("tree", b"")
    workspace = project.workspace()
    shutil.rmtree(workspace.path)
    assert project.workspaces.collect(workspace) == empty
    workspace.path.symlink_to("/etc")
    assert project.workspaces.collect(workspace) == empty
    project.workspaces.remove(S1)
    assert Path("/etc").exists() and not project.workspaces.exists(S1)


# ── what a story may add ──────────────────────────────────────────────────────────────────────────────


def taken(
    project: Project, change: Callable[[Path], object], *scope: str, room: Room | None = None
) -> tuple[set[str], set[str]]:
    """Paths that came into the tree, and those that were refused."""
    workspace = project.workspace()
    change(workspace.path)
    found = project.workspaces.collected(workspace, Scope(scope), room)
    return set(project.files(found.tree)) - set(project.files(project.main)), set(found.refused)


@pytest.mark.req("D6")
def test_what_the_scope_names_counts_though_it_is_ignored(tmp_path: Path) -> None:
    ignores = "*.gen\ndist/\nbuild/\n.env\n"
    project = Project(tmp_path, {".gitignore": ignores, "pkg/build/old.py": "1", "venv/__init__.py": "1"})
    files = {"a.gen": "1", "b.gen": "1", "dist/x.js": "1", "dist/deep/y.js": "1", "build/out": "1"}
    package = {"pkg/build/new.py": "1", "venv/more.py": "1", "venv/__pycache__/a.pyc": "1", ".env": "1"}
    come, refused = taken(
        project, lambda folder: write(folder, files | package), "a.gen", "dist/deep/", "pkg/", "venv/", "*.py", ".env"
    )
    assert come == {"a.gen", "dist/deep/y.js", "pkg/build/new.py", "venv/more.py", ".env"} and not refused


@pytest.mark.req("D6")
def test_a_folder_in_scope_does_not_bring_what_is_ignored_in_it(tmp_path: Path) -> None:
    project = Project(tmp_path, {".gitignore": "*.log\n/src/out/\n", "src/a.py": "1"})
    files = {"src/b.py": "1", "src/x.log": "1", "src/out/y": "1", "src/__pycache__/a.pyc": "1", "src/venv/z.py": "1"}
    come, _ = taken(project, lambda folder: write(folder, files), "src/")
    assert come == {"src/b.py"}


@pytest.mark.req("D6")
def test_many_sparse_files_are_refused_before_anybody_reads_them(project: Project) -> None:
    def change(folder: Path) -> None:
        write(folder, {"src/small.py": "1"})
        for n in range(40):
            with open(folder / f"src/sparse-{n}", "wb") as file:
                file.truncate(40_000_000)
        with open(folder / "src/huge", "wb") as file:
            file.truncate(60_000_000)

    come, refused = taken(project, change, "src/", room=Room(50_000_000, 200_000_000))
    assert "src/small.py" in come and "src/huge" in refused
    assert len(come) == 5 and len(refused) == 37


@pytest.mark.req("D6")
def test_a_large_file_of_the_base_stays_as_it_is(tmp_path: Path) -> None:
    project = Project(tmp_path, {"big": "x" * 3_000_000, "small": "x" * 3000})

    def change(folder: Path) -> None:
        write(folder, {"big": "y" * 3_000_001, "small": "y" * 2_000_001})

    workspace = project.workspace()
    change(workspace.path)
    found = project.workspaces.collected(workspace, Scope(("big", "small")), Room(2_000_000, 10_000_000))
    assert set(found.refused) == {"small"} and project.files(found.tree) == project.files(project.main)


@pytest.mark.req("D6")
def test_disguises_of_git_are_refused_by_name_and_links_in_place_of_its_files(project: Project) -> None:
    def change(folder: Path) -> None:
        write(folder, {"src/.GIT/x": "1", "src/git~1": "1", "src/ok.py": "1"})
        (folder / ".gitmodules").symlink_to("src/ok.py")
        (folder / "src/.GITATTRIBUTES").symlink_to("ok.py")

    come, refused = taken(project, change, "src/", ".gitmodules")
    assert come == {"src/ok.py"}
    assert refused == {"src/.GIT", "src/git~1", ".gitmodules", "src/.GITATTRIBUTES"}
