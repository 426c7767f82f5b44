"""A landing that is killed, at any point: the next one puts right what it left, and no edit of the user's is lost.

⚑ kill -9 inside the merge leaves index.lock and half the files, and every retry refuses.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Blocked
from damascus.git.landing import land, repair
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
from damascus.git.unfinished import MARKER
from tests.user_repository import AS_USER, UserRepository, candidate
from tests.waiting import eventually

MANY = 600
CHILD = """
import sys
from pathlib import Path
from damascus.git.landing import land
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
top, path, old, new = sys.argv[1:]
repo, mirror = Repository.discover(Path(top)), Mirror.open(Path(path), top)
print("ready", flush=True)
sys.stdin.readline()
land(repo, mirror, "main", old, new)
"""


NAMES = [f"d{n // 100:02}/f{n:04}" for n in range(MANY)]
KEPT = MANY * 2 // 3


def round_of(n: int) -> dict[str, str | None]:
    """Each round rewrites two thirds of the files and trades the last third: removed, then added again."""
    return {name: f"{n}\n" * 50 if i < KEPT or n % 2 == 0 else None for i, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> UserRepository:
    files = {name: text for name, text in round_of(0).items() if text is not None}
    return UserRepository.create(
        tmp_path_factory.mktemp("killed") / "calc", {"notes.txt": "1\n", "plan": "1\n"} | files
    )


@pytest.fixture(scope="module")
def mirror(user: UserRepository) -> Mirror:
    return user.mirror(user.top.parent / "mirror.git")


@pytest.fixture(scope="module")
def rounds() -> Iterator[int]:
    return iter(range(1, 1000))


def landing_process(user: UserRepository, mirror: Mirror, old: Sha, new: Sha) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(user.top), str(mirror.path), old, new],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert child.stdin and child.stdout and child.stdout.readline() == "ready\n"
    child.stdin.write("go\n")
    child.stdin.flush()
    return child


def at_once(fact: Callable[[], bool], what: str, child: subprocess.Popen[str]) -> bool:
    """As `eventually`, but with no pause: the moments looked for last a millisecond. False: it came too late."""
    deadline = time.monotonic() + 20
    while not fact():
        if child.poll() is not None:
            return False
        assert time.monotonic() < deadline, what
    return True


def landed_by_the_next(user: UserRepository, mirror: Mirror, old: Sha, new: Sha) -> None:
    """As the engine does it: what is transient is tried again (a killed process takes a moment to be gone)."""

    def attempt() -> bool:
        try:
            land(Repository.discover(user.top), mirror, "main", old, new)
        except TransientError:
            return False
        return True

    eventually(attempt, timeout=30, what="the landing by the next process")


def moments(user: UserRepository, n: int) -> dict[str, Callable[[], bool]]:
    """Facts in the order of a merge: marker, lock, files one by one, index, branch."""
    git, began = user.top / ".git", time.time_ns()
    facts: dict[str, Callable[[], bool]] = {
        "marker": lambda: (git / MARKER).exists() and (git / MARKER).stat().st_size > 0,
        "lock": (git / "index.lock").exists,
        "index": lambda: (git / "index").stat().st_mtime_ns > began,
        "branch": lambda: (git / "refs/heads/main").stat().st_mtime_ns > began,
    }
    if n % 2 == 1:
        facts["removed"] = lambda: not (user.top / NAMES[-MANY // 6]).exists()
    written = NAMES if n % 2 == 0 else NAMES[:KEPT]
    for share in (0, 15, 30, 50, 70, 90):
        facts[f"{share} %"] = partial(is_new, user.top / written[len(written) * share // 100], n)
    return facts


def is_new(file: Path, n: int) -> bool:
    try:
        return file.read_text().startswith(f"{n}\n")
    except OSError:
        return False


def left_half(user: UserRepository, old: Sha) -> bool:
    return (user.top / ".git/index.lock").exists() and user.at("main") == old


@pytest.mark.req("D20", "F13")
@pytest.mark.parametrize(
    "moment",
    ["marker", "lock", "removed", "0 %", "15 %", "30 %", "50 %", "70 %", "90 %", "index", "branch"],
)
def test_killed_with_its_git_at_any_moment(
    user: UserRepository, mirror: Mirror, rounds: Iterator[int], moment: str
) -> None:
    """Among the files it is tried until the kill really came in time."""
    hit = False
    while not hit:
        n = next(rounds)
        if moment in moments(user, n):
            hit = killed_at(user, mirror, n, moment) or "%" not in moment


def killed_at(user: UserRepository, mirror: Mirror, n: int, moment: str) -> bool:
    user.write({"notes.txt": f"an edit of mine {n}\n", "plan": f"staged {n}\n", f"untracked{n}": "mine\n"})
    user.git("add", "plan")
    before, old = user.status(), user.at("main")
    new = candidate(mirror, old, round_of(n))
    child = landing_process(user, mirror, old, new)
    at_once(moments(user, n)[moment], moment, child)
    with suppress(ProcessLookupError):  # it was faster
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    half = left_half(user, old)
    landed_by_the_next(user, mirror, old, new)
    assert (user.at("main"), user.status()) == (new, before)
    assert not (user.top / ".git" / MARKER).exists()
    assert not [lock for lock in (user.top / ".git").rglob("*.lock") if "objects" not in lock.parts]
    return half


@pytest.mark.req("D20")
def test_killed_alone_its_git_finishes_and_the_next_waits_for_that(
    user: UserRepository, mirror: Mirror, rounds: Iterator[int]
) -> None:
    n = next(rounds)
    facts, old = moments(user, n), user.at("main")
    before, new = user.status(), candidate(mirror, old, round_of(n))
    child = landing_process(user, mirror, old, new)
    assert at_once(facts["15 %"], "files", child)
    git = child_of(child.pid)
    os.kill(git, signal.SIGSTOP)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    with pytest.raises(TransientError, match="another landing is at work"):
        land(Repository.discover(user.top), mirror, "main", old, new)
    os.kill(git, signal.SIGCONT)
    landed_by_the_next(user, mirror, old, new)
    assert (user.at("main"), user.status()) == (new, before)


@pytest.mark.req("D20")
def test_git_killed_alone_is_taken_back_at_once(user: UserRepository, mirror: Mirror, rounds: Iterator[int]) -> None:
    n = next(rounds)
    facts, old = moments(user, n), user.at("main")
    before, new = user.status(), candidate(mirror, old, round_of(n))
    child = landing_process(user, mirror, old, new)
    assert at_once(facts["15 %"], "files", child)
    os.kill(child_of(child.pid), signal.SIGKILL)
    assert child.wait() != 0
    assert (user.at("main"), user.status()) == (old, before)
    assert not (user.top / ".git/index.lock").exists()
    landed_by_the_next(user, mirror, old, new)
    assert (user.at("main"), user.status()) == (new, before)


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


# ── exact states ──────────────────────────────────────────────────────────────────────────────────────

OLD = {
    "a": "old a\n",
    "b": "old b\n",
    "c": "old c\n",
    "gone/x": "old x\n",
    "file": "f\n",
    "dir/in": "i\n",
    "mine": "1\n",
}
NEW = {"a": "new a, longer\n", "b": "new b\n", "c": "new c\n", "gone/x": None, "file": None, "file/in": "new\n",
       "dir/in": None, "dir": "now a file\n", "added/y": "new y\n", "added/z": "new z\n"}  # fmt: skip


@pytest.fixture
def half(tmp_path: Path) -> "Half":
    user = UserRepository.create(tmp_path / "calc", OLD)
    mirror = user.mirror(tmp_path / "mirror.git")
    return Half(user, mirror, user.at("main"), candidate(mirror, user.at("main"), NEW))


class Half:
    """A repository in which a landing from `old` to `new` was killed among the files."""

    def __init__(self, user: UserRepository, mirror: Mirror, old: Sha, new: Sha) -> None:
        self.user, self.mirror, self.old, self.new = user, mirror, old, new
        self.git_dir = user.top / ".git"
        intent = {"branch": "main", "old": old, "new": new, "folder": str(user.top)}
        (self.git_dir / MARKER).write_text(json.dumps(intent))
        (self.git_dir / "index.lock").touch()

    def land(self) -> None:
        land(Repository.discover(self.user.top), self.mirror, "main", self.old, self.new)


@pytest.mark.req("D20")
def test_new_missing_and_cut_short_files_are_put_right(half: Half) -> None:
    top = half.user.top
    (top / "a").write_text("new a, lo")
    (top / "b").unlink()
    (top / "gone/x").unlink()
    (top / "gone").rmdir()
    (top / "file").unlink()
    (top / "dir/in").unlink()
    (top / "dir").rmdir()
    half.user.write({"file/in": "new\n", "dir": "now a file\n", "added/y": "new y\n", "added/z": "", "mine": "edit\n"})
    half.land()
    assert half.user.at("main") == half.new
    assert half.user.status() == " M mine"
    assert (top / "mine").read_text() == "edit\n"


@pytest.mark.req("D20")
def test_an_edit_made_after_the_kill_is_kept_and_named(half: Half) -> None:
    half.user.write({"b": "new b\n", "c": "the user went on here\n"})
    with pytest.raises(Blocked, match="c has changes of yours") as caught:
        half.land()
    assert caught.value.paths == ["c"] and not caught.value.needs_person
    assert half.user.status() == " M c"
    assert not (half.git_dir / MARKER).exists()
    half.user.git("stash", "-q")
    half.land()
    assert (half.user.at("main"), half.user.status()) == (half.new, "")


def test_repair_alone_goes_back_to_old_and_says_whether_main_has_it(half: Half) -> None:
    repo = Repository.discover(half.user.top)
    half.user.write({"b": "new b\n", "added/y": "new y\n"})
    assert repair(repo, half.mirror, "main", half.old, half.new) is False
    assert (half.user.at("main"), half.user.status()) == (half.old, "")
    half.land()
    assert repair(repo, half.mirror, "main", half.old, half.new) is True


def test_after_the_merge_was_finished_no_file_is_touched(half: Half) -> None:
    """Killed between the branch and the marker; then the user went on, even back to the old text."""
    (half.git_dir / "index.lock").unlink()
    half.user.git("fetch", "-q", str(half.mirror.store), half.new)
    half.user.git("merge", "-q", "--ff-only", half.new)
    half.user.write({"b": "old b\n"})
    half.land()
    assert half.user.status() == " M b"
    assert not (half.git_dir / MARKER).exists()


@pytest.mark.req("D20")
def test_killed_between_index_and_branch(half: Half) -> None:
    (half.git_dir / "index.lock").unlink()
    half.user.git("fetch", "-q", str(half.mirror.store), half.new)
    half.user.git("read-tree", "-m", "-u", half.old, half.new)
    (half.git_dir / "HEAD.lock").touch()
    (half.git_dir / "refs/heads/main.lock").touch()
    half.land()
    assert (half.user.at("main"), half.user.status()) == (half.new, "")


def test_a_folder_moved_since_is_put_right_where_it_is_now(half: Half, tmp_path: Path) -> None:
    half.user.write({"b": "new b\n"})
    half.user.top.rename(tmp_path / "moved")
    moved = UserRepository(tmp_path / "moved")
    land(Repository.discover(moved.top), half.mirror, "main", half.old, half.new)
    assert (moved.at("main"), moved.status()) == (half.new, "")


@pytest.mark.req("F13")
def test_a_lock_that_a_living_process_holds_is_waited_for(half: Half) -> None:
    lock = half.git_dir / "index.lock"
    with lock.open():
        holder = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=lock.open("a"))
    with pytest.raises(TransientError, match="another git process holds"):
        half.land()
    assert lock.exists() and half.user.at("main") == half.old
    holder.communicate()
    half.land()
    assert half.user.at("main") == half.new


@pytest.mark.req("F13")
def test_a_git_of_the_user_in_its_editor_keeps_its_lock(half: Half) -> None:
    """`git commit -a` holds its lock with the file closed."""
    half.user.write({"mine": "edit\n"})
    (half.git_dir / "index.lock").unlink()
    env = {"PATH": os.environ["PATH"]} | AS_USER | {"GIT_EDITOR": "cat; exit 1; :"}
    editor = subprocess.Popen(
        ["git", "commit", "-q", "-a"], cwd=half.user.top, env=env, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    eventually((half.git_dir / "index.lock").exists, what="the user's lock")
    with pytest.raises(TransientError):
        half.land()
    assert editor.poll() is None and (half.git_dir / "index.lock").exists()
    editor.communicate()
    half.land()
    assert (half.user.at("main"), half.user.status()) == (half.new, " M mine")


def test_a_lock_older_than_the_landing_is_not_ours(half: Half) -> None:
    os.utime(half.git_dir / "index.lock", (1, 1))
    with pytest.raises(TransientError, match=r"another git process holds .*index\.lock"):
        half.land()
    assert (half.git_dir / "index.lock").exists()


def test_a_symlink_of_the_user_is_not_written_through(half: Half, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "y").write_text("new y")
    (half.user.top / "added").symlink_to(outside)
    with pytest.raises(Blocked):
        half.land()
    assert (outside / "y").read_text() == "new y"


def test_a_marker_cut_short_means_that_nothing_had_begun(half: Half) -> None:
    (half.git_dir / "index.lock").unlink()
    (half.git_dir / MARKER).write_text('{"branch": "ma')
    half.land()
    assert half.user.at("main") == half.new and not (half.git_dir / MARKER).exists()


def test_what_the_user_put_in_the_place_of_a_missing_file_stays(half: Half) -> None:
    """Git itself would remove it to make room."""
    for path in ("gone/x", "b"):
        (half.user.top / path).unlink()
    (half.user.top / "gone").rmdir()
    half.user.write({"gone": "a file of the user's\n", "b/deep": "a folder of the user's\n"})
    with pytest.raises(Blocked) as caught:
        half.land()
    assert not caught.value.needs_person
    assert (half.user.top / "gone").read_text() == "a file of the user's\n"
    assert (half.user.top / "b/deep").exists() and half.user.at("main") == half.old


@pytest.mark.req("D20")
def test_what_can_not_be_put_back_needs_a_person(half: Half) -> None:
    """A filter of the user's that fails stops the merge half-way, and putting back too."""
    for path in (half.git_dir / MARKER, half.git_dir / "index.lock"):
        path.unlink()
    (half.git_dir / "info").mkdir(exist_ok=True)
    (half.git_dir / "info/attributes").write_text("c filter=broken\n")
    for key, value in (("smudge", "false"), ("clean", "cat"), ("required", "true")):
        half.user.git("config", f"filter.broken.{key}", value)
    half.user.write({"mine": "edit\n"})
    with pytest.raises(Blocked, match="could not be put back") as caught:
        half.land()
    assert caught.value.needs_person and "c" in caught.value.paths
    assert half.user.at("main") == half.old
    half.user.git("config", "filter.broken.smudge", "cat")
    half.land()
    assert (half.user.at("main"), half.user.status()) == (half.new, " M mine")
