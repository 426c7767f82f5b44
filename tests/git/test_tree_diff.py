"""Our tree diff, listing and merge agree with git's own; the reader that stays."""

import os
import random
import signal
from pathlib import Path

import pytest

from damascus.domain.ids import Sha
from damascus.git import rebasing
from damascus.git.commands import Git
from damascus.git.mirror import Mirror
from damascus.git.objects import EMPTY_TREE, Commit, identity_now
from damascus.git.trees import TreeEntry
from tests.git.repos import Project, commit


def _git_says(mirror: Mirror, old: Sha, new: Sha) -> list[tuple[str, str, str]]:
    raw = mirror.git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new).raw
    fields = iter(raw.split(b"\0"))
    rows = [(row.decode().split(" "), os.fsdecode(next(fields))) for row in fields if row]
    return sorted((path, row[4][:1], row[1]) for row, path in rows)


def _scramble(repo: Path, dice: random.Random) -> Sha:
    """Add, change, delete, make executable, turn files into links and into folders."""
    for _ in range(dice.randint(1, 6)):
        path = repo / dice.choice(["a", "b", "d/a", "d/b", "d/e/f", "x y", "d/ü", "z.z"])
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            continue
        if any(
            parent.is_file() or parent.is_symlink() for parent in path.relative_to(repo).parents if str(parent) != "."
        ):
            continue
        if any((repo / parent).is_file() for parent in path.relative_to(repo).parents if str(parent) != "."):
            (repo / path.relative_to(repo).parent).unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        match dice.randint(0, 3):
            case 0:
                path.symlink_to("elsewhere")
            case 1:
                path.write_text(str(dice.random()))
                path.chmod(0o755)
            case 2:
                path.write_text(str(dice.random()))
            case _:
                continue
    return commit(repo, {})


@pytest.mark.parametrize("packed", [False, True])
def test_the_diff_is_gits_own(tmp_path: Path, packed: bool) -> None:
    project = Project(tmp_path)
    dice = random.Random(7)
    commits = [_scramble(project.repo, dice) for _ in range(12)]
    project.mirror.fetch()
    if packed:
        project.mirror.git.run("repack", "-a", "-d", "-q")
        project.mirror.git.run("prune-packed", "-q")
    for old in commits[::3]:
        for new in commits:
            ours = [(f.path, f.status, f.mode) for f in project.mirror.changed(old, new)]
            assert sorted(ours) == _git_says(project.mirror, old, new)


def test_the_reader_is_started_again_when_it_died(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.mirror.fetch()
    project.mirror.git.run("repack", "-a", "-d", "-q")
    reader = project.mirror.objects.disk._reader
    tip = project.mirror.tip("main")
    assert tip is not None
    assert reader.object(tip) is not None
    assert reader._process is not None
    os.kill(reader._process.pid, signal.SIGKILL)
    reader._process.wait()
    assert reader.object(tip) is not None
    assert reader.object("0" * 40) is None


def test_a_listing_made_from_the_last_one_is_gits_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path)
    dice = random.Random(5)
    commits = [_scramble(project.repo, dice) for _ in range(30)]
    project.mirror.fetch()
    asked: list[str] = []
    run = project.mirror.git.run
    monkeypatch.setattr(Git, "run", lambda self, *args, **more: asked.append(args[0]) or run(*args, **more))
    for tip in commits:
        made = project.mirror.listing(tip)
        alone = Mirror(project.mirror.path, project.mirror.source).listing(tip)
        assert made == alone
    assert len(commits) < asked.count("ls-tree") < 2 * len(commits)  # some were made, some had to be asked for


def test_files_laid_over_main_are_what_git_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = Project(tmp_path).mirror.objects
    dice = random.Random(3)
    names = ["a", "b", "d/a", "d/b", "d/e/f", "d/e", "x y", "d/ü"]

    def changed(base: Sha) -> Sha:
        files = {name: TreeEntry("100644", objects.write("blob", b"%d" % dice.randrange(99))) for name in names}
        return objects.edit(
            base, {name: files[name] if dice.random() < 0.9 else None for name in dice.sample(names, 2)}
        )

    for module in ("objects", "rebasing"):  # git names a conflict by the commit, and that has its date in it
        monkeypatch.setattr(
            f"damascus.git.{module}.identity_now", lambda author="": "A <a@example.org> 1700000000 +0000"
        )
    by_hand = 0
    for _ in range(60):
        start = changed(changed(EMPTY_TREE))
        base, onto = (objects.write_commit(Commit(tree, (), identity_now(), "")) for tree in (start, changed(start)))
        candidate = Commit(changed(start), (base,), identity_now(), "mine\n")
        by_hand += rebasing._laid_over(objects, candidate, onto) is not None
        commit = objects.write_commit(candidate)
        ours = rebasing.rebase(objects, commit, onto)
        with monkeypatch.context() as patched:
            patched.setattr(rebasing, "_laid_over", lambda *_: None)
            gits = rebasing.rebase(objects, commit, onto)
        told = [each.files if isinstance(each, rebasing.Conflicted) else each.tree for each in (ours, gits)]
        assert (type(ours), told[0]) == (type(gits), told[1])
    assert 10 < by_hand < 50


@pytest.mark.parametrize(
    "mine, others",
    [
        (
            {"new/file": "x"},
            {"old/a": None, "moved/a": "a\n"},
        ),  # a folder renamed on main: git may move the new file too
        ({"a": "x"}, {"a": "y"}),
        ({"a/b": "x"}, {"a": "y"}),
        ({"a": "x"}, {"a/b": "y"}),
        ({"old/a": None}, {"old/b": "x"}),
    ],
)
def test_what_may_touch_is_gits_to_merge(
    tmp_path: Path, mine: dict[str, str | None], others: dict[str, str | None]
) -> None:
    project = Project(tmp_path)
    objects = project.mirror.objects
    blobs = {text: objects.write("blob", text.encode()) for text in ("a\n", "x", "y")}

    def tree(base: Sha, files: dict[str, str | None]) -> Sha:
        return objects.edit(
            base, {path: TreeEntry("100644", blobs[text]) if text else None for path, text in files.items()}
        )

    start = tree(EMPTY_TREE, {"old/a": "a\n"})
    base = objects.write_commit(Commit(start, (), identity_now(), "base\n"))
    onto = objects.write_commit(Commit(tree(start, others), (base,), identity_now(), "main\n"))
    assert rebasing._laid_over(objects, Commit(tree(start, mine), (base,), "", ""), onto) is None
