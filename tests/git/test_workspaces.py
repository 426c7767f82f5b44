"""A workspace is the agent's; what we take from it is the files, and nothing that it planted ever runs."""

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from damascus.domain.ids import Sha, StoryId
from damascus.domain.scope import Scope
from damascus.git.contents import FILE_LIMIT, stat_index
from damascus.git.snapshots import Snapshots
from damascus.git.workspaces import stays_inside
from tests.git.repos import S1, Project, as_nobody, commit, git, planted_program, repository, write
from tests.waiting import eventually


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
    assert (time.perf_counter() - start) / 5 < 1.0


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
                file.truncate(FILE_LIMIT * 10_000)

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
    _give_to_nobody(tmp_path)
    as_nobody(check)


def _give_to_nobody(folder: Path) -> None:
    if os.geteuid() == 0:
        for above in folder.parents:
            if above.stat().st_uid == 0 and above != Path("/") and not above.stat().st_mode & 0o001:
                above.chmod(above.stat().st_mode | 0o011)
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)


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


# ── nothing planted ever runs ─────────────────────────────────────────────────────────────────────────────


def _evil_git_dir(folder: Path, program: Path, mirror: Path) -> Path:
    git(folder.parent, "init", "-q", "--bare", str(folder))
    git(folder, "config", "core.bare", "false")
    git(folder, "config", "core.fsmonitor", str(program))
    git(folder, "config", "core.hooksPath", str(folder / "hooks"))
    (folder / "objects/info").mkdir(exist_ok=True)
    (folder / "objects/info/alternates").write_text(f"{mirror}/objects\n")
    (folder / "hooks").mkdir(exist_ok=True)
    for hook in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout"):
        shutil.copy(program, folder / "hooks" / hook)
    return folder


def _as_folder(workspace: Path, evil: Path) -> None:
    shutil.rmtree(workspace / ".git")
    shutil.copytree(evil, workspace / ".git")


def _as_file(workspace: Path, evil: Path) -> None:
    shutil.rmtree(workspace / ".git")
    (workspace / ".git").write_text(f"gitdir: {evil}\n")


def _as_commondir(workspace: Path, evil: Path) -> None:
    for name in ("config", "objects", "refs"):
        target = workspace / ".git" / name
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    (workspace / ".git/commondir").write_text(f"{evil}\n")


@pytest.mark.req("D4", "F13")
@pytest.mark.parametrize("plant", [_as_folder, _as_file, _as_commondir])
def test_a_replaced_git_dir_runs_nothing(project: Project, tmp_path: Path, plant: Callable[[Path, Path], None]) -> None:
    marker = tmp_path / "ran"
    evil = _evil_git_dir(tmp_path / "evil.git", planted_program(tmp_path, marker), project.mirror.path)
    marker.unlink(missing_ok=True)
    workspace = project.workspace()
    plant(workspace.path, evil)
    write(workspace.path, {"src/new.py": "1"})
    tree = project.workspaces.collect(workspace)
    kept = Snapshots(project.mirror).save(workspace.path, S1, run_no=1, step="implement", fence=1, base=project.main)
    assert kept is not None
    assert project.files(tree)["src/new.py"] == "644 1"
    assert project.files(kept.tree) == project.files(tree)
    assert not marker.exists()
    git(workspace.path, "status", check=False)
    assert marker.exists(), "the control: plain git in the workspace runs it"


@pytest.mark.req("D4")
def test_deleting_its_own_objects_does_not_hurt_the_mirror(project: Project) -> None:
    workspace = project.workspace()
    write(workspace.path, {"src/new.py": "1"})
    shutil.rmtree(workspace.path / ".git/objects")
    shutil.rmtree(workspace.path / ".git/refs")
    assert "src/new.py" in project.files(project.workspaces.collect(workspace))
    project.mirror.git.run("fsck", "--full")


# ── recreate ──────────────────────────────────────────────────────────────────────────────────────────────

SCOPE = Scope(("src/", "link"))


def recreated(project: Project, change: Callable[[Path], object], base: Sha | None = None) -> Path:
    """A second attempt's workspace after an agent did this in the first."""
    workspace = project.workspace()
    change(workspace.path)
    kept = Snapshots(project.mirror).save(workspace.path, S1, run_no=1, step="s", fence=1, base=workspace.base)
    assert kept is not None
    project.workspaces.remove(S1)
    return project.workspaces.recreate(S1, base or workspace.base, kept.tree, SCOPE).path


@pytest.mark.req("D4")
def test_recreate_keeps_files_in_scope_and_nothing_else(tmp_path: Path) -> None:
    project = Project(tmp_path, {"src/a": "1", "src/b": "1", "out": "1", "gone": "1"})

    def change(folder: Path) -> None:
        write(folder, {"src/a": "2", "src/b": None, "src/new/x": "2", "out": "2", "gone": None, "extra": "2"})
        (folder / "src/new/x").chmod(0o755)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "mine")

    folder = recreated(project, change)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and ".git/" not in str(path)}
    assert files == {"src/a", "src/new/x", "out", "gone"}
    assert (folder / "src/a").read_text() == "2"
    assert os.access(folder / "src/new/x", os.X_OK) or os.geteuid() == 0
    assert (folder / "out").read_text() == "1"
    assert git(folder, "log", "--format=%H") == project.main
    assert set(git(folder, "status", "--porcelain", "-z").split("\0")) >= {" D src/b", "?? src/new/"}


@pytest.mark.req("D4")
def test_recreate_on_a_moved_main_merges_instead_of_taking_it_back(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(20))
    project = Project(tmp_path, {"src/both": lines, "src/clash": "x\n", "src/theirs": "1", "src/mine": "1"})
    workspace = project.workspace()
    write(workspace.path, {"src/both": lines.replace("line 1\n", "MINE\n"), "src/clash": "mine\n", "src/mine": "2"})
    kept = Snapshots(project.mirror).save(workspace.path, S1, run_no=1, step="s", fence=1, base=workspace.base)
    assert kept is not None
    project.workspaces.remove(S1)
    onto = project.advance(
        {"src/both": lines.replace("line 18\n", "THEIRS\n"), "src/clash": "theirs\n", "src/theirs": "2"}
    )
    folder = project.workspaces.recreate(S1, onto, kept.tree, SCOPE, was=kept.base).path
    assert (folder / "src/theirs").read_text() == "2"
    assert (folder / "src/mine").read_text() == "2"
    assert {"MINE", "THEIRS"} <= set((folder / "src/both").read_text().split("\n"))
    assert {"<<<<<<<", "mine", "theirs"} <= set((folder / "src/clash").read_text().split())


@pytest.mark.req("D4")
def test_a_symlink_that_leaves_returns_to_the_base(tmp_path: Path) -> None:
    project = Project(tmp_path, {"src/file": "base", "src/data/x": "base", "src/a": "1"})

    def change(folder: Path) -> None:
        write(folder, {"src/file": None, "src/data/x": None})
        (folder / "src/data").rmdir()
        (folder / "src/file").symlink_to("/etc/passwd")
        (folder / "src/data").symlink_to("../..")
        (folder / "src/sneaky").symlink_to("dot/..")
        (folder / "src/dot").symlink_to("..")
        (folder / "src/fine").symlink_to("a")
        (folder / "src/self").symlink_to("../.git/config")
        (folder / "link").symlink_to("..")

    folder = recreated(project, change)
    assert (folder / "src/file").read_text() == "base" and not (folder / "src/file").is_symlink()
    assert not (folder / "src/data").is_symlink()
    links = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink()}
    assert links == {"src/fine", "src/dot"}


@pytest.mark.req("D4")
def test_nothing_is_written_through_a_kept_link(tmp_path: Path) -> None:
    """The base has a folder of that name now: the link does not come back to lead its files elsewhere."""
    project = Project(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = project.workspace()
    (workspace.path / "src/data").symlink_to(outside)
    kept = Snapshots(project.mirror).save(workspace.path, S1, run_no=1, step="s", fence=1, base=workspace.base)
    assert kept is not None
    project.workspaces.remove(S1)
    onto = project.advance({"src/data/x": "from main"})
    for was in (None, kept.base):
        fresh = project.workspaces.recreate(S1, onto, kept.tree, SCOPE, was=was)
        assert not (fresh.path / "src/data").is_symlink()
        assert list(outside.iterdir()) == []
        project.workspaces.remove(S1)


@pytest.mark.parametrize(
    ("link", "target", "inside"),
    [
        ("a", "b", True),
        ("a/b", "../c", True),
        ("a", "../c", False),
        ("a/b", "../../c", False),
        ("a", "/etc", False),
        ("a", "b/../../c", False),
        ("a", "b/..", False),
        ("a", ".git/config", False),
        ("a/b", "../.GIT", False),
        ("a", ".", True),
    ],
)
def test_which_links_stay_inside(link: str, target: str, inside: bool) -> None:
    assert stays_inside(link, target) is inside


# ── remove ────────────────────────────────────────────────────────────────────────────────────────────────


def test_remove_takes_read_only_and_closed_folders(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    project = Project(tmp_path / "p")
    _give_to_nobody(tmp_path)

    def check() -> None:
        workspace = project.workspace()
        write(workspace.path, {"ro/deep/x": "1", "closed/y/z": "1", "ro/y": "1"})
        for name in ("ro/deep", "ro", "closed/y", "closed"):
            (workspace.path / name).chmod(0o500 if name.startswith("ro") else 0)
        project.workspaces.remove(S1)
        assert os.listdir(project.workspaces.root) == []
        project.workspaces.remove(S1)

    as_nobody(check)


def test_sweep_clears_what_a_killed_process_left(project: Project) -> None:
    project.workspace()
    for name in (".new-S-2-aa", ".gone-S-3-bb"):
        write(project.workspaces.root / name, {"x": "1"})
    project.workspaces.sweep()
    assert len(os.listdir(project.workspaces.root)) == 3
    project.workspaces.sweep(older_than=0)
    assert os.listdir(project.workspaces.root) == ["S-1"]


def test_remove_forgets_the_kept_index(project: Project) -> None:
    project.workspace()
    project.workspaces.create(StoryId("S-10"), project.main)
    project.workspaces.remove(S1)
    assert os.listdir(project.mirror.path / "damascus-indexes") == [f"S-10@{project.main}"]


def test_the_mirror_is_not_touched_by_a_commit_on_main(project: Project) -> None:
    """An agent that commits to main does it in its own repository."""
    workspace = project.workspace()
    git(workspace.path, "checkout", "-q", "-b", "main")
    commit(workspace.path, {"evil": "1"})
    assert project.mirror.for_each_ref("refs/heads/") == {}
    project.mirror.fetch()
    assert project.main == workspace.base
