"""A gc of the user's own, while a story lands: main never names what is not there."""

from pathlib import Path

import pytest

from damascus.git import landing
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
from damascus.git.unfinished import Marker
from tests.user_repository import UserRepository, candidate

FILES = {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    return UserRepository.create(tmp_path / "calc", FILES)


@pytest.fixture
def mirror(user: UserRepository, tmp_path: Path) -> Mirror:
    return user.mirror(tmp_path / "mirror.git")


@pytest.mark.req("X4", "F13")
@pytest.mark.parametrize("checked_out", [True, False])
@pytest.mark.parametrize("when", ["before the move", "after the move"])
@pytest.mark.parametrize("many", [False, True])
def test_after_landing_every_object_is_there(
    user: UserRepository, mirror: Mirror, monkeypatch: pytest.MonkeyPatch, checked_out: bool, when: str, many: bool
) -> None:
    """`many`: more objects than are handed over one by one."""
    files = {"src/a.py": "a = 2\n"} | ({f"src/m{n}.py": f"m = {n}\n" for n in range(250)} if many else {})
    old = user.at("main")
    new = candidate(mirror, old, files)
    if not checked_out:
        user.git("checkout", "-q", "--detach")
    move = Marker.run
    times: list[str] = []

    def run(self: Marker, *args: object, **how: object) -> object:
        if when == "before the move" and not times:
            user.git("gc", "-q", "--prune=now")
        done = move(self, *args, **how)  # type: ignore[arg-type]
        if when == "after the move" and not times:  # the gc had read the refs before they moved
            for sha in (line.split()[0] for line in user.git("rev-list", "--objects", new, f"^{old}").splitlines()):
                (user.top / ".git/objects" / sha[:2] / sha[2:]).unlink(missing_ok=True)
        times.append("run")
        return done

    monkeypatch.setattr(Marker, "run", run)
    landing.land(Repository.discover(user.top), mirror, "main", old, new)
    assert user.at("main") == new
    user.git("fsck", "--full", "--strict", "--connectivity-only")
    assert user.git("show", f"{new}:src/a.py") == "a = 2"
    if checked_out:
        assert user.git("status", "--porcelain") == ""


@pytest.mark.req("X4")
def test_whoever_was_killed_after_the_move_is_made_whole_by_the_next(user: UserRepository, mirror: Mirror) -> None:
    old = user.at("main")
    new = candidate(mirror, old, {"src/a.py": "a = 2\n"})
    repository = Repository.discover(user.top)
    landing.land(repository, mirror, "main", old, new)
    blob = user.git("rev-parse", f"{new}:src/a.py")
    (user.top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    landing.land(repository, mirror, "main", old, new)
    user.git("fsck", "--full", "--strict", "--connectivity-only")
