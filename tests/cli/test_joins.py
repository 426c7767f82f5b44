"""Several repositories in one project: joined, moved, refused, and worked by one `damascus run` (W13)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.cli.main import main
from tests.cli.conftest import Cli
from tests.estate import Estate, toml
from tests.yard import HONEST, python, story

pytestmark = pytest.mark.req("W13")

CORE = {"core.py": "def price():\n    return 7\n"}
SHOP = {
    "check.py": "import os, sys\nsys.path.insert(0, os.environ['DAMASCUS_UPSTREAM_CORE'])\n"
    "import core\nassert core.price() == 7\n"
}
CHECK = f"{python()} check.py"


@pytest.fixture
def estate(tmp_path: Path, database_url: str) -> Iterator[Estate]:
    made = Estate(tmp_path, database_url)
    yield made
    made.db.close()


@pytest.fixture
def two(estate: Estate) -> Estate:
    estate.repo("core", CORE, jobs=f"{python()} core.py")
    estate.repo("shop", SHOP, needs=("core",), jobs=CHECK)
    return estate


@pytest.fixture
def at(estate: Estate, command: Cli, monkeypatch: pytest.MonkeyPatch) -> "At":
    return At(estate, command, monkeypatch)


class At:
    """`at("shop", "init", …)`: the command as it is given in that repository's folder."""

    def __init__(self, estate: Estate, command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        self.estate, self.command, self.monkeypatch = estate, command, monkeypatch

    def __call__(self, name: str, *words: str):  # type: ignore[no-untyped-def]
        for key, value in self.estate.environ.items():
            self.monkeypatch.setenv(key, value)
        self.monkeypatch.chdir(self.estate.path(name))
        return self.command(*words)


def test_init_joins_and_the_repository_is_one_of_the_same_project(estate: Estate, at: At) -> None:
    estate.make("core", CORE)
    estate.make("shop", SHOP)
    assert at("core", "init", "--yes").code == 0
    ran = at("shop", "init", "--yes", "--joins", "../core")
    assert ran.code == 0 and "shop is a repository of the project core" in ran.out
    core, shop = estate.project("core"), estate.project("shop")
    assert core.row.uuid == shop.row.uuid and core.row.repo_id != shop.row.repo_id
    assert (core.row.repo, shop.row.repo, shop.row.name) == ("core", "shop", "core")
    home = Path(estate.environ["DAMASCUS_HOME"])
    assert core.folder == home / "projects" / str(core.row.uuid)
    assert shop.folder == core.folder / "repos" / str(shop.row.repo_uuid)
    assert at("shop", "init", "--yes", "--joins", "../core").code == 0  # once more changes nothing
    assert len(estate.query("SELECT 1 AS n FROM repos")) == 2


def test_a_moved_folder_is_still_the_same_repository(two: Estate) -> None:
    before = two.project("shop").row
    moved = two.path("shop").rename(two.folder / "elsewhere")
    after = two.app.project(moved).row
    assert (after.repo_id, after.path) == (before.repo_id, str(moved))
    assert [one.row.repo for one in two.app.repositories(two.project("core"))] == ["core", "shop"]


def test_a_copy_of_a_joined_repository_is_refused(two: Estate, at: At) -> None:
    import shutil

    shutil.copytree(two.path("shop"), two.path("copy"), symlinks=True)
    assert "is a copy of" in at("copy", "status").error


def test_a_repository_of_the_release_before_is_known_without_a_uuid_of_its_own(estate: Estate) -> None:
    estate.repo("core", CORE)
    before = estate.project("core").row
    estate.git("core", "config", "--unset", "damascus.repository")
    assert estate.project("core").row.repo_id == before.repo_id
    assert estate.git("core", "config", "damascus.repository") == str(before.repo_uuid)


def test_names_are_taken_once_and_stories_are_not_taken_along(two: Estate, at: At) -> None:
    two.make("other", CORE)
    two.commit("other", {"damascus.toml": toml("Core")}, "called as another one")
    assert "a repository of this project is called Core already" in at("other", "init", "--joins", "../core").error
    two.make("own", CORE)
    two.app.init_project(two.path("own"))
    two.add("own", story("S-9"))
    assert "own is a project of its own, with 1 stories" in at("own", "init", "--joins", "../core").error
    assert "is this repository itself" in at("core", "init", "--joins", ".").error


def test_a_project_without_stories_can_still_join(two: Estate, at: At) -> None:
    two.make("late", CORE)
    assert at("late", "init", "--yes").code == 0
    assert at("late", "init", "--yes", "--joins", "../core").code == 0
    assert two.project("late").row.uuid == two.project("core").row.uuid


@pytest.mark.parametrize(
    ("needs", "said"),
    [(("nobody",), "core needs the repository 'nobody'"), (("shop",), "need each other in a circle")],
)
def test_run_refuses_needs_that_can_not_be_met(two: Estate, at: At, needs: tuple[str, ...], said: str) -> None:
    two.commit("core", {"damascus.toml": toml("core", needs)}, "needs")
    ran = at("shop", "run", "--until-idle", "--agent", "command", "--agent-command", "true")
    assert ran.code == 2 and said in ran.error


def test_a_repository_whose_upstream_is_not_here_is_not_worked(two: Estate, at: At) -> None:
    two.work("shop")
    two.path("core").rename(two.folder / "away")
    ran = at("shop", "run", "--until-idle", "--agent", "command", "--agent-command", "true")
    assert ran.code == 1 and "shop needs core, and this host has no such folder" in ran.error


def test_one_run_works_both_repositories_roots_first(two: Estate, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queued the wrong way round, from both folders; worked by one run in the second one's."""
    two.commit("shop", {"specs/B-1.md": story("B-1")}, "a spec")
    two.commit("core", {"specs/A-1.md": story("A-1")}, "a spec")
    assert at("shop", "add", "specs/B-1.md").code == 0
    assert at("core", "add", "specs/A-1.md").code == 0
    assert {row["story_id"]: row["repo_id"] for row in two.query("SELECT story_id, repo_id FROM work_items")} == {
        "B-1": two.project("shop").row.repo_id, "A-1": two.project("core").row.repo_id,
    }  # fmt: skip
    ran = at("shop", "run", "--until-idle", "--agent", "command", "--agent-command", two.agent(HONEST))
    assert ran.code == 0, ran.out + ran.err + str(two.questions())
    assert (two.item("A-1")["phase"], two.item("B-1")["phase"]) == ("done", "done")
    assert [row["item_id"] for row in two.events("story.landed")] == [two.item("A-1")["id"], two.item("B-1")["id"]]
    assert "def value" in two.git("core", "show", "main:a1.py") and "def value" in two.git("shop", "show", "main:b1.py")
    assert two.ci() == {"core": "green", "shop": "green"}
    claimed, landed = two.events("item.claimed"), two.events("story.landed")
    first_of_shop = min(event["id"] for event in claimed if event["item_id"] == two.item("B-1")["id"])
    assert first_of_shop > landed[0]["id"]  # not before what it needs was on main
    for words in ("status --all", "show B-1", "why B-1", "logs B-1", "show A-1", "logs A-1"):
        ran = at("core", *words.split())
        assert ran.code == 0, (words, ran.err)


def test_both_repositories_have_their_own_mirror_and_runs(two: Estate) -> None:
    two.add("shop", story("B-1"))
    two.work("core", two.agent(HONEST))
    shop, core = two.project("shop"), two.project("core")
    assert (shop.folder / "mirror.git").is_dir() and (core.folder / "mirror.git").is_dir()
    assert (shop.runs / "B-1").is_dir() and not (core.runs / "B-1").exists()


def test_the_entry_point_knows_the_verbs() -> None:
    assert main(["graph", "--help"]) == 0 and main(["hold", "--help"]) == 0 and main(["release", "--help"]) == 0
