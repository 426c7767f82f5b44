"""A workspace whose git dir was replaced runs nothing; a further attempt gets a fresh one; removal leaves nothing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from damascus.domain.ids import Sha, StoryId
from damascus.domain.scope import Scope
from damascus.git.snapshots import Snapshots
from damascus.git.workspaces import stays_inside
from tests.git.repos import S1, Project, as_nobody, commit, git, give_to_nobody, planted_program, write


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


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
    give_to_nobody(tmp_path)

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
    assert os.listdir(project.mirror.store / "damascus-indexes") == [f"S-10@{project.main}"]


def test_the_mirror_is_not_touched_by_a_commit_on_main(project: Project) -> None:
    """An agent that commits to main does it in its own repository."""
    workspace = project.workspace()
    git(workspace.path, "checkout", "-q", "-b", "main")
    commit(workspace.path, {"evil": "1"})
    assert project.mirror.for_each_ref("refs/heads/") == {}
    project.mirror.fetch()
    assert project.main == workspace.base
