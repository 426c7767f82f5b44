"""What the mirror holds and makes of it: objects, checkouts, rebases."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, StoryId
from damascus.git.mirror import Conflicted, Rebased, RefMove
from damascus.git.trees import TreeEntry
from tests.git.repos import S1, Project, counting_git, git, planted_program


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# ── objects ───────────────────────────────────────────────────────────────────────────────────────────────


def test_read_gives_a_blob_and_nothing_else(project: Project) -> None:
    assert project.mirror.read(project.main, "README.md") == b"hello\n"
    for path in ("src", "none", "src/none", "", "./README.md", "new\nline", "\udcff"):
        assert project.mirror.read(project.main, path) is None, path


def test_changed_names_every_kind_of_change(tmp_path: Path) -> None:
    project = Project(tmp_path, {"mod": "1", "gone": "1", "type": "1", "bit": "1", "same": "1"})
    base = project.main
    (project.repo / "type").unlink()
    (project.repo / "type").symlink_to("mod")
    (project.repo / "bit").chmod(0o755)
    head = project.advance({"mod": "2", "gone": None, "new\nname": "1"})
    seen = {change.path: (change.status, change.mode) for change in project.mirror.changed(base, head)}
    assert seen == {
        "mod": ("M", "100644"),
        "gone": ("D", "000000"),
        "type": ("T", "120000"),
        "bit": ("M", "100755"),
        "new\nname": ("A", "100644"),
    }
    trees = project.mirror.tree(base), project.mirror.tree(head)
    assert project.mirror.changed(*trees) == project.mirror.changed(base, head)


def test_what_we_write_is_what_git_writes(project: Project) -> None:
    mirror = project.mirror
    data = bytes(range(256)) * 10
    expected = mirror.git.run("hash-object", "--stdin", data=data).text
    assert mirror.write_blob(data) == expected
    done = mirror.commit_tree(mirror.tree(project.main), [project.main], "Überschrift\n\nbody")
    mirror.update_refs([RefMove("refs/heads/x", done, None)])
    assert mirror.git.run("fsck", "--strict", "--full").code == 0
    assert mirror.git.out("log", "-1", "--format=%s|%b|%P", done) == f"Überschrift|body\n|{project.main}"


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_an_edited_tree_is_the_one_git_would_write(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    project = _shared_project(tmp_path_factory)
    names = st.sampled_from(["a", "a.b", "a-b", "ab", "b/c", "b/c/d", "b.c", "d/e/f", "d/e.x", "x"])
    mirror = project.mirror
    blob = mirror.write_blob(b"1")
    base = mirror.objects.edit(Sha(mirror.objects.write("tree", b"")), _consistent(data.draw(st.lists(names)), blob))
    wanted = _consistent(data.draw(st.lists(names)), mirror.write_blob(b"2"))
    gone = {name: None for name in data.draw(st.lists(names)) if name not in wanted}
    edited = mirror.objects.edit(base, {**gone, **wanted})
    index = project.repo / "scratch-index"
    index.unlink(missing_ok=True)
    mirror.git.run("read-tree", base, index=index)
    rows = "".join(f"0 {'0' * 40}\t{name}\n" for name in gone)
    rows += "".join(f"{entry.mode} {entry.sha}\t{name}\n" for name, entry in wanted.items())
    mirror.git.run("update-index", "--index-info", data=rows.encode(), index=index)
    assert edited == mirror.git.out("write-tree", index=index)


def _consistent(names: list[str], blob: Sha) -> dict[str, TreeEntry]:
    """No name that is also the folder of another."""
    kept = [name for name in names if not any(other.startswith(name + "/") for other in names)]
    return {name: TreeEntry("100644", blob) for name in kept}


_PROJECTS: list[Project] = []


def _shared_project(factory: pytest.TempPathFactory) -> Project:
    if not _PROJECTS:
        _PROJECTS.append(Project(factory.mktemp("edit")))
    return _PROJECTS[0]


def test_overlay_takes_exactly_the_named_paths(tmp_path: Path) -> None:
    project = Project(tmp_path, {"src/a": "1", "src/b": "1", "tests/old": "1", "dir/x": "1", "file": "1"})
    (project.repo / "file").unlink()
    (project.repo / "dir/x").unlink()
    (project.repo / "dir").rmdir()
    base = project.main
    source = project.advance(
        {"src/a": "2", "src/b": "2", "tests/old": None, "tests/new/t": "2", "file/y": "2", "dir": "2"}
    )
    tree = project.mirror.overlay(
        base, source, ["src/a", "tests/old", "tests/new/t", "file", "file/y", "dir", "none/x"]
    )
    assert project.files(tree) == {
        "src/a": "644 2",
        "src/b": "644 1",
        "tests/new/t": "644 2",
        "file/y": "644 2",
        "dir": "644 2",
    }


def test_ancestors(project: Project) -> None:
    first, second = project.main, project.advance({"a": "1"})
    assert project.mirror.is_ancestor(first, second)
    assert project.mirror.is_ancestor(first, first)
    assert not project.mirror.is_ancestor(second, first)


@pytest.mark.req("D4")
def test_gc_keeps_all_that_our_refs_reach(project: Project) -> None:
    mirror = project.mirror
    kept = mirror.commit_tree(mirror.tree(project.main), [project.main], "kept")
    fresh = mirror.write_blob(b"a candidate that no ref names yet")
    mirror.update_refs([RefMove("refs/damascus/snapshots/S-1", kept, None)])
    mirror.gc()
    assert mirror.objects.commit(kept).message == "kept\n"
    assert mirror.objects.find([fresh])[0] is not None


def test_patch_ids_find_the_same_change_under_another_id(project: Project) -> None:
    base = project.main
    story = project.candidate(base, {"src/new.py": b"x = 1\n"})
    project.advance({"other": "1"})
    squashed = project.advance({"src/new.py": "x = 1\n"})
    found = project.mirror.reachable_patch_ids(project.main, base)
    assert found[project.mirror.patch_id(story) or ""] == squashed
    assert len(found) == 2
    assert project.mirror.patch_id(project.mirror.commit_tree(project.mirror.tree(base), [base], "empty")) is None


# ── checkout ──────────────────────────────────────────────────────────────────────────────────────────────


def test_checkout_is_exact(tmp_path: Path) -> None:
    project = Project(
        tmp_path, {"a/run.sh": "#!/bin/sh\n", "crlf": b"1\r\n2\r\n", ".gitattributes": "* text eol=crlf\n"}
    )
    (project.repo / "a/run.sh").chmod(0o755)
    (project.repo / "link").symlink_to("a/run.sh")
    project.advance({"b": "1"})
    folder = tmp_path / "out"
    project.mirror.checkout(project.main, folder)
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        ".gitattributes", "a", "a/run.sh", "b", "crlf", "link",
    ]  # fmt: skip
    assert (folder / "a/run.sh").stat().st_mode & stat.S_IXUSR
    assert not (folder / "b").stat().st_mode & stat.S_IXUSR
    assert os.readlink(folder / "link") == "a/run.sh"


def test_checkout_refuses_a_folder_with_something_in_it(project: Project, tmp_path: Path) -> None:
    with pytest.raises(DamascusError, match="not empty"):
        project.mirror.checkout(project.main, project.repo)


@pytest.mark.req("D4")
def test_attributes_of_an_agent_run_nothing_and_change_nothing(tmp_path: Path) -> None:
    """A filter needs a driver in the config, and ours has none; conversions are off by our own attributes."""
    project = Project(tmp_path)
    marker = tmp_path / "ran"
    program = planted_program(tmp_path, marker)
    workspace = project.workspace()
    git(workspace.path, "config", "filter.evil.smudge", str(program))
    git(workspace.path, "config", "filter.evil.clean", str(program))
    attributes = "* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\n"
    workspace.path.joinpath(".gitattributes").write_text(attributes)
    workspace.path.joinpath("src/app.py").write_bytes(b"$Id$ \xff\r\n")
    tree = project.workspaces.collect(workspace)
    project.mirror.checkout(tree, tmp_path / "out")
    assert (tmp_path / "out/src/app.py").read_bytes() == b"$Id$ \xff\r\n"
    assert not marker.exists()
    (workspace.path / ".git/info/attributes").unlink()
    workspace.path.joinpath(".gitattributes").write_text("* filter=evil\n")
    git(workspace.path, "add", "-A", check=False)
    assert marker.exists(), "the control: plain git in the workspace runs it"


# ── rebase ────────────────────────────────────────────────────────────────────────────────────────────────

LINES = "".join(f"line {n}\n" for n in range(20))


def test_rebase_onto_its_own_parent_changes_nothing(project: Project) -> None:
    story = project.candidate(project.main, {"new": b"1"})
    assert project.mirror.rebase(story, project.main) == Rebased(story, project.mirror.tree(story), project.main)


def test_rebase_clean(tmp_path: Path) -> None:
    project = Project(tmp_path, {"f": LINES})
    story = project.candidate(project.main, {"f": LINES.replace("line 1\n", "ONE\n").encode()}, "the story\n\nbody\n")
    onto = project.advance({"f": LINES.replace("line 18\n", "EIGHTEEN\n"), "g": "1"})
    done = project.mirror.rebase(story, onto)
    assert isinstance(done, Rebased)
    commit = project.mirror.objects.commit(done.commit)
    assert (commit.parents, commit.tree, commit.message) == ((onto,), done.tree, "the story\n\nbody\n")
    text = project.mirror.read(done.commit, "f") or b""
    assert b"ONE\n" in text and b"EIGHTEEN\n" in text


@pytest.mark.req("D6")
def test_rebase_conflict_names_files_and_shows_the_hunks(tmp_path: Path) -> None:
    project = Project(tmp_path, {"f": LINES, "deleted": LINES, "kept": "1"})
    mine = LINES.replace("line 5\n", "MINE\n").encode()
    story = project.candidate(project.main, {"f": mine, "deleted": mine, "both": b"mine\n", "kept": b"2"})
    onto = project.advance({"f": LINES.replace("line 5\n", "THEIRS\n"), "deleted": None, "both": "theirs\n"})
    result = project.mirror.rebase(story, onto)
    assert isinstance(result, Conflicted)
    assert set(result.files) == {"f", "deleted", "both"}
    assert result.their_sha == onto
    assert "<<<<<<< main" in result.details and ">>>>>>> this story" in result.details
    for part in ("MINE", "THEIRS", "modify/delete", "deleted", "add/add", onto[:7]):
        assert part in result.details, part
    assert "line 12" not in result.details


def test_rebase_conflict_details_are_capped(tmp_path: Path) -> None:
    project = Project(tmp_path, {"f": "x\n"})
    story = project.candidate(project.main, {"f": "ä".encode() * 20_000 + b"\n"})
    result = project.mirror.rebase(story, project.advance({"f": "z\n"}))
    assert isinstance(result, Conflicted)
    assert 7000 < len(result.details.encode()) <= 8000


def test_rebase_where_main_was_rewritten(tmp_path: Path) -> None:
    """The parent is no ancestor of the target: only the story's own change is carried over."""
    project = Project(tmp_path, {"f": LINES})
    first = project.main
    old = project.advance({"thrown away": "1"})
    story = project.candidate(old, {"f": LINES.replace("line 1\n", "ONE\n").encode()})
    git(project.repo, "reset", "-q", "--hard", first)
    onto = project.advance({"g": "1"})
    done = project.mirror.rebase(story, onto)
    assert isinstance(done, Rebased)
    assert [change.path for change in project.mirror.changed(onto, done.commit)] == ["f"]


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────


def test_processes_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, calls = counting_git(tmp_path / "bin")
    monkeypatch.setenv("PATH", path)
    project = Project(tmp_path / "p", {"f": LINES, ".gitignore": "*.log\n"})
    story = project.candidate(project.main, {"f": LINES.replace("line 1\n", "ONE\n").encode()})
    old = project.main
    onto = project.advance({"g": "1"})
    project.mirror.fetch_main("main")
    project.mirror.listing(old)
    calls()
    project.mirror.fetch(only="main")
    assert calls() == []
    rebased = project.mirror.rebase(story, onto)
    assert isinstance(rebased, Rebased)
    project.mirror.update_refs([RefMove("refs/heads/feat/S-1", story, None)])
    assert calls() == []
    project.mirror.overlay(old, story, ["f"])
    assert calls() == []
    project.mirror.checkout(story, tmp_path / "out")
    assert calls() == ["read-tree"]
    workspace = project.workspaces.create(S1, onto)
    assert calls() == ["read-tree"]
    workspace.path.joinpath("new").write_text("1")
    project.workspaces.collect(workspace)
    assert calls() == ["update-index", "write-tree"]
    project.mirror.listing(rebased.commit)
    assert calls() == []
    project.mirror.listing(old)  # one file less
    assert calls() == []
    project.workspaces.create(StoryId("S-2"), old)  # main went on meanwhile
    assert calls() == ["read-tree"]
