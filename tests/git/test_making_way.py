"""What we wrote into a checkout ourselves holds no landing up, and nothing else is ever taken for ours."""

import hashlib
from pathlib import Path

import pytest

from damascus.domain.ports import Blocked
from damascus.git.landing import land
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
from tests.user_repository import UserRepository, candidate

MAINS, OURS, PATH = "a = 1\n", "a = 1\n# written by us\n", "src/a.py"


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    made = UserRepository.create(tmp_path / "calc", {PATH: MAINS})
    made.write({PATH: OURS})
    return made


@pytest.fixture
def mirror(user: UserRepository, tmp_path: Path) -> Mirror:
    return user.mirror(tmp_path / "mirror.git")


def landed(user: UserRepository, mirror: Mirror, written: str, made_from: str) -> str:
    """A story that changes the file lands; `made_from` is main's own that what we wrote was made from."""
    known = {PATH: (_hash(written), _hash(made_from) if made_from else "")}
    old = user.at("main")
    new = candidate(mirror, old, {PATH: "a = 2\n"})
    land(Repository.discover(user.top), mirror, "main", old, new, ours=lambda: known)
    return (user.top / PATH).read_text()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.req("A1.2", "F13")
def test_what_we_wrote_makes_way(user: UserRepository, mirror: Mirror) -> None:
    assert landed(user, mirror, OURS, MAINS) == "a = 2\n"


@pytest.mark.req("A1.2", "F13")
@pytest.mark.parametrize(
    ("written", "made_from"),
    [
        pytest.param("something else\n", MAINS, id="edited since"),
        pytest.param(OURS, "a = 1\n# words of a commit that was undone\n", id="its commit was undone"),
        pytest.param(OURS, "", id="main had no such file"),
    ],
)
def test_what_may_hold_words_of_theirs_does_not(
    user: UserRepository, mirror: Mirror, written: str, made_from: str
) -> None:
    with pytest.raises(Blocked):
        landed(user, mirror, written, made_from)
    assert (user.top / PATH).read_text() == OURS
