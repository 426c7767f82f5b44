"""Refs that we move ourselves: as git would, beside git, and by git where it is not simple."""

import os
import random
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from damascus.domain.errors import GitError
from damascus.domain.ids import Sha
from damascus.domain.ports import Stale
from damascus.git import refs
from damascus.git.mirror import Mirror, RefMove
from tests.git.repos import Project, git

NAMES = (
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/c.d",
    "refs/damascus/fence/S-1",
    "refs/heads/c..d",
    "refs/x/y.lock",
)


def _commits(mirror: Mirror, count: int) -> list[Sha]:
    tree = mirror.objects.write("tree", b"")
    return [mirror.commit_tree(tree, [], f"commit {n}\n") for n in range(count)]


def _tried(mirror: Mirror, moves: list[RefMove]) -> str:
    try:
        mirror.update_refs(moves)
    except (Stale, GitError) as err:
        return type(err).__name__
    return "moved"


def test_every_move_ends_as_with_git_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, gits = (Mirror.open(tmp_path / name / "mirror.git", str(tmp_path / "source")) for name in ("ours", "gits"))
    shas: list[Sha | None] = [None, *_commits(ours, 3), ours.write_blob(b"no commit"), Sha("1" * 40)]
    for sha in shas[1:4]:
        assert sha in _commits(gits, 3)
    gits.write_blob(b"no commit")
    by_hand, move = [], refs.move
    dice = random.Random(11)
    answers = set()
    for turn in range(120):
        chosen = dice.sample(NAMES, dice.choice([1, 1, 2, 3]))
        moves = [
            RefMove(ref, dice.choice(shas), ours.resolve(ref) if dice.random() < 0.8 else dice.choice(shas))
            for ref in chosen
        ]
        monkeypatch.setattr(refs, "move", lambda *args: by_hand.append(move(*args)) or by_hand[-1])
        answer = _tried(ours, moves)
        monkeypatch.setattr(refs, "move", lambda *args: False)
        assert (answer, moves) == (_tried(gits, moves), moves)
        assert ours.for_each_ref("refs/") == gits.for_each_ref("refs/")
        answers.add(answer)
        if turn % 40 == 20:
            for mirror in (ours, gits):
                mirror.git.run("pack-refs", "--all")
    assert answers == {"moved", "Stale", "GitError"}
    assert by_hand.count(True) > 10
    assert not list(ours.path.rglob("refs/**/*.lock"))


def test_nothing_is_lost_beside_a_git_that_packs_and_prunes(tmp_path: Path) -> None:
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    commits = _commits(mirror, 40)
    names = [f"refs/heads/feat/S-{n}" for n in range(4)]
    done = threading.Event()

    def climb(name: str) -> None:
        for old, new in zip([None, *commits], commits, strict=False):
            mirror.update_refs([RefMove(name, new, old)])

    def pack() -> None:
        while not done.is_set():
            subprocess.run(["git", "pack-refs", "--all"], cwd=mirror.store, capture_output=True)

    packer = threading.Thread(target=pack)
    packer.start()
    climbers = [threading.Thread(target=climb, args=(name,)) for name in names]
    for each in climbers:
        each.start()
    for each in climbers:
        each.join()
    done.set()
    packer.join()
    assert {name: git(mirror.store, "rev-parse", name) for name in names} == dict.fromkeys(names, commits[-1])


def test_of_many_who_move_one_ref_from_the_same_value_one_wins(tmp_path: Path) -> None:
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    first, *others = _commits(mirror, 9)
    mirror.update_refs([RefMove("refs/heads/a", first, None)])
    answers: list[str] = []
    racers = [
        threading.Thread(target=lambda new=new: answers.append(_tried(mirror, [RefMove("refs/heads/a", new, first)])))
        for new in others
    ]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert sorted(answers) == ["Stale"] * 7 + ["moved"]


def test_a_ref_with_another_value_keeps_all_where_they_are(tmp_path: Path) -> None:
    project = Project(tmp_path)
    first, second = _commits(project.mirror, 2)
    project.mirror.update_refs([RefMove("refs/heads/a", first, None)])
    with pytest.raises(Stale, match="refs/heads/a is at"):
        project.mirror.update_refs([RefMove("refs/heads/b", second, None), RefMove("refs/heads/a", second, None)])
    assert project.mirror.resolve("refs/heads/b") is None
    assert project.mirror.resolve("refs/heads/a") == first
    assert not list((project.mirror.store / "refs").rglob("*.lock"))


def test_locks_that_a_killed_process_left_do_not_stop_refs_forever(tmp_path: Path) -> None:
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    (commit,) = _commits(mirror, 1)
    names = ["refs/heads/feat/S-1", "refs/damascus/fence/S-1", "refs/damascus/pulls/1"]
    locks = [mirror.store / f"{name}.lock" for name in names]
    for lock in locks:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
    mirror.update_refs([RefMove(name, commit, None) for name in names])
    assert [git(mirror.store, "rev-parse", name) for name in names] == [commit] * 3
    assert not any(lock.exists() for lock in locks)


@pytest.mark.req("X4")
def test_killed_between_two_refs_the_next_one_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some have moved, the rest has its locks: what a killed git leaves too."""
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    (commit,) = _commits(mirror, 1)
    for turn in range(20):
        moves = [RefMove(f"refs/heads/{turn}/{n}", commit, None) for n in range(60)]
        moved, locked = _killed_at_the_first(mirror, moves)
        if moved and locked:
            break
    else:
        pytest.fail("never killed in between")
    assert {path.name for path in moved} | {path.stem for path in locked} == {str(n) for n in range(60)}
    monkeypatch.setattr(refs, "ORPHAN_PATIENCE", 0.01)
    with pytest.raises(Stale):
        mirror.update_refs(moves)
    mirror.update_refs([move for move in moves if mirror.resolve(move.ref) is None])
    assert all(mirror.resolve(move.ref) == commit for move in moves)


def _killed_at_the_first(mirror: Mirror, moves: list[RefMove]) -> tuple[list[Path], list[Path]]:
    """Killed as soon as one ref has moved: the files of those that have, and the locks that are left."""
    folder = (mirror.store / moves[0].ref).parent
    pid = os.fork()
    if pid == 0:
        try:
            mirror.update_refs(moves)
        finally:
            os._exit(0)
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if folder.is_dir() and any(not name.endswith(".lock") for name in os.listdir(folder)):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
    return [path for path in folder.iterdir() if path.suffix != ".lock"], list(folder.glob("*.lock"))


def test_a_name_that_is_a_folder_of_a_packed_one_is_gits_to_refuse(tmp_path: Path) -> None:
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    (commit,) = _commits(mirror, 1)
    mirror.update_refs([RefMove("refs/heads/a/b", commit, None)])
    mirror.git.run("pack-refs", "--all")
    for name in ("refs/heads/a", "refs/heads/a/b/c"):
        with pytest.raises(GitError, match="cannot lock ref"):
            mirror.update_refs([RefMove(name, commit, None)])
    with pytest.raises(GitError):
        mirror.update_refs([RefMove("refs/heads/x", commit, None), RefMove("refs/heads/x/y", commit, None)])
    assert mirror.for_each_ref("refs/") == {"refs/heads/a/b": commit}


def test_refs_that_are_packed_while_others_are_deleted_stay(tmp_path: Path) -> None:
    """Why git deletes: libgit2 would write packed-refs as it was before it had the lock."""
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    (commit,) = _commits(mirror, 1)
    done = threading.Event()

    def pack() -> None:
        while not done.is_set():
            subprocess.run(["git", "pack-refs", "--all"], cwd=mirror.store, capture_output=True)

    packer = threading.Thread(target=pack)
    packer.start()
    for n in range(60):
        mirror.update_refs([RefMove(f"refs/heads/{kind}/{n}", commit, None) for kind in ("kept", "gone")])
        mirror.update_refs([RefMove(f"refs/heads/gone/{n}", None, commit)])
    done.set()
    packer.join()
    assert mirror.for_each_ref("refs/heads/") == {f"refs/heads/kept/{n}": commit for n in range(60)}


@pytest.mark.req("X4")
def test_a_ref_that_is_deleted_and_made_again_while_all_are_packed_stays(tmp_path: Path) -> None:
    """Git packs refs, then takes away the files that still have the packed value, and does not ask whether it is still
    packed. So nobody moves refs while our gc packs them."""
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    (commit,) = _commits(mirror, 1)
    done = threading.Event()

    def gc() -> None:
        while not done.is_set():
            mirror.gc()

    packer = threading.Thread(target=gc)
    packer.start()
    try:
        for _ in range(150):
            mirror.update_refs([RefMove("refs/heads/again", commit, None)])
            mirror.update_refs([RefMove("refs/heads/again", None, commit)])
    finally:
        done.set()
        packer.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_a_store_of_another_user_is_worked_by_git(tmp_path: Path) -> None:
    """As in a volume that was made under another id: libgit2 refuses it, git is told that it is safe."""
    mirror = Mirror.open(tmp_path / "mirror", str(tmp_path / "source"))
    first, second = _commits(mirror, 2)
    os.chown(mirror.store, 65534, 65534)
    mirror.update_refs([RefMove("refs/heads/a", first, None)])
    mirror.update_refs([RefMove("refs/heads/a", second, first)])
    assert mirror.resolve("refs/heads/a") == second and mirror.resolve("refs/heads/b") is None
    assert not mirror.is_ancestor(first, second)


def test_a_store_that_is_gone_is_not_made_by_a_ref(tmp_path: Path) -> None:
    project = Project(tmp_path)
    tip = project.main
    project.mirror.fetch_main("main")
    assert project.mirror.main("main") == tip
    shutil.rmtree(project.mirror.path)
    assert project.mirror.main("main") is None
    with pytest.raises(OSError):
        project.mirror.main_refs.move([RefMove("refs/remotes/origin/main", tip, None)])
    assert not project.mirror.path.exists()
