"""An upstream main goes red and what depends on it pauses; a main broken from above names the commit (W20)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from damascus.assembly import Choice, make_worker
from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun, Forge, Job
from damascus.engine.maintenance.bisection import first_red
from damascus.engine.maintenance.cascade import Cascade
from damascus.engine.tools import nothing
from damascus.store import graph
from tests.estate import Estate, toml
from tests.waiting import eventually
from tests.yard import HONEST, python, story

pytestmark = pytest.mark.req("W20")

GREEN = "def price():\n    return 7\n"
RED = "def price():\n    return 8\n"
OWN = f"{python()} -c 'import core; assert core.price() < 10'"
CHECK = (
    "import os, sys\n"
    "for name in ('CORE', 'TAX'):\n"
    "    if 'DAMASCUS_UPSTREAM_' + name in os.environ:\n"
    "        sys.path.insert(0, os.environ['DAMASCUS_UPSTREAM_' + name])\n"
    "import core\n"
    "assert core.price() == 7, core.price()\n"
)


@pytest.fixture
def estate(tmp_path: Path, database_url: str) -> Iterator[Estate]:
    made = Estate(tmp_path, database_url)
    yield made
    made.db.close()


@pytest.fixture
def two(estate: Estate) -> Estate:
    estate.repo("core", {"core.py": GREEN}, jobs=OWN)
    estate.repo("shop", {"check.py": CHECK}, needs=("core",), jobs=f"{python()} check.py")
    return estate


def cascade(estate: Estate, name: str = "shop") -> Cascade:
    worker = estate.worker(name, "true")
    return Cascade({worker.tools.project.repo_id: worker.tools, **worker.others})


def test_mains_of_a_chain_are_judged_roots_first_and_once_for_each_tip(two: Estate) -> None:
    watch = cascade(two)
    assert two.ci() == {"core": "pending", "shop": "pending"}
    watch.look()
    assert two.ci() == {"core": "green", "shop": "green"}
    log = two.project("shop").folder / "main" / "test.log"
    log.unlink()
    watch.look()
    assert not log.exists()  # nothing has moved, so nothing was run
    two.commit("core", {"readme": "x"}, "another tip above")
    watch.look()
    assert log.exists() and two.ci() == {"core": "green", "shop": "green"}


def test_an_upstream_main_that_is_red_pauses_stories_below_and_green_lets_them_go_on(two: Estate) -> None:
    two.work("shop")
    two.commit("core", {"core.py": "def price():\n    return 11\n"}, "too dear")
    two.add("shop", story("B-1"))
    agent = two.agent(HONEST)
    two.work("shop", agent)  # ends by itself: only a person can go on
    assert two.ci() == {"core": "red", "shop": "pending"}
    assert (two.item("B-1")["wait_kind"], two.item("B-1")["claims"]) == ("upstream", 0)
    [asked] = two.questions()
    assert "main of core is red" in asked["question"] and "Stories of shop wait" in asked["question"]
    assert [event["body"]["commit"] for event in two.events("repo.red")] == [two.main("core")]
    two.commit("core", {"core.py": GREEN}, "cheaper again")
    two.work("shop", agent)
    assert two.item("B-1")["phase"] == "done" and two.ci() == {"core": "green", "shop": "green"}
    assert two.questions() == [] and len(two.events("repo.green")) == 1


@pytest.mark.req("W13")
@pytest.mark.parametrize("moment", [("implement", "after_done"), ("ci", "after")])
def test_nothing_is_pushed_or_landed_while_an_upstream_main_is_red(two: Estate, moment: tuple[str, str]) -> None:
    """A person breaks the upstream main while the story is at work, before its push or before its landing."""
    two.work("shop")
    before = two.main("shop")
    two.add("shop", story("B-1"))

    def boundary(step: str, point: str) -> None:
        if (step, point) == moment and "too dear" not in two.subjects("core"):
            two.commit("core", {"core.py": "def price():\n    return 11\n"}, "too dear")

    choice = Choice(slots=1, agent="command", agent_command=two.agent(HONEST))
    make_worker(two.app, two.project("shop"), choice, boundary).run(nothing)
    item = two.item("B-1")
    assert (item["wait_kind"], two.main("shop"), two.ci()["core"]) == ("upstream", before, "red")
    assert (item["pr_url"] is None) == (moment[0] == "implement")
    assert two.query("SELECT * FROM repo_locks WHERE item_id = %s", item["id"]) == []
    two.commit("core", {"core.py": GREEN}, "cheaper again")
    two.work("shop", two.agent(HONEST))
    assert two.item("B-1")["phase"] == "done" and two.main("shop") != before


def test_the_upstream_commit_that_broke_a_main_is_named_and_three_choices_offered(two: Estate) -> None:
    watch = cascade(two)
    watch.look()
    for n in range(3):
        two.commit("core", {f"before{n}": "x"}, f"harmless {n}")
    culprit = two.commit("core", {"core.py": RED, "test_price.py": "def test_price(): pass\n"}, "Raise the price")
    for n in range(4):
        two.commit("core", {f"after{n}": "x"}, f"harmless too {n}")
    watch.look()
    assert two.ci() == {"core": "green", "shop": "red"}
    [asked] = two.questions()
    assert f"since the commit {culprit[:7]} of core (Raise the price)" in asked["question"]
    assert asked["options"] == [
        f"revert {culprit[:7]} in core",
        "fix shop",
        "coordinate: hold core and shop until you release them",
        "run its CI again",
    ]
    broken = asked["about"]["broken"]
    assert (broken["commit"], broken["files"], broken["tests"]) == (
        culprit,
        ["core.py", "test_price.py"],
        ["test_price.py"],
    )
    [told] = two.events("repo.red")
    assert (told["body"]["broken_by"], told["body"]["upstream"]) == (culprit, "core")


def test_a_main_with_a_commit_of_its_own_has_broken_itself(two: Estate) -> None:
    watch = cascade(two)
    watch.look()
    two.commit("core", {"core.py": RED}, "Raise the price")
    two.commit("shop", {"mine": "x"}, "a commit of its own")
    watch.look()
    [asked] = two.questions()
    assert "main of shop is red" in asked["question"] and "about" in asked["about"] and "broken" not in asked["about"]


def test_of_two_upstream_repositories_the_right_one_is_blamed(estate: Estate) -> None:
    estate.repo("core", {"core.py": GREEN}, jobs=OWN)
    estate.repo("tax", {"tax.py": "RATE = 2\n"}, jobs="true")
    estate.repo("shop", {"check.py": CHECK + "import tax\nassert tax.RATE == 2\n"}, needs=("core", "tax"),
                jobs=f"{python()} check.py")  # fmt: skip
    watch = cascade(estate)
    watch.look()
    estate.commit("core", {"readme": "x"}, "harmless")
    culprit = estate.commit("tax", {"tax.py": "RATE = 3\n"}, "More tax")
    watch.look()
    [asked] = estate.questions()
    assert f"since the commit {culprit[:7]} of tax (More tax)" in asked["question"]


def test_what_breaks_only_together_is_said_so(estate: Estate) -> None:
    estate.repo("core", {"core.py": "A = 1\n"}, jobs="true")
    estate.repo("tax", {"tax.py": "B = 1\n"}, jobs="true")
    both = CHECK.replace(
        "import core\nassert core.price() == 7, core.price()\n", "import core, tax\nassert core.A + tax.B < 4\n"
    )
    estate.repo("shop", {"check.py": both}, needs=("core", "tax"), jobs=f"{python()} check.py")
    watch = cascade(estate)
    watch.look()
    estate.commit("core", {"core.py": "A = 2\n"}, "two")
    estate.commit("tax", {"tax.py": "B = 2\n"}, "two as well")
    watch.look()
    [asked] = estate.questions()
    assert "no single upstream repository breaks it, only these together" in asked["question"]
    assert asked["options"][0] == "fix shop" and "release it" in asked["options"][1]


class Elsewhere:
    """A forge whose CI says what the test wants, and else is the one it stands before."""

    def __init__(self, forge: Forge, *, runs_ci: bool = False) -> None:
        self._forge, self.runs_ci = forge, runs_ci
        self.answers: list[str | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._forge, name)

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        if not self.answers:
            return self._forge.ci(sha, jobs)
        state = self.answers.pop(0)
        return CiRun(sha=sha, run_id="7", jobs=[CiJob(name="test", state=state)] if state else [])  # type: ignore[arg-type]


def with_forge(watch: Cascade, estate: Estate, name: str, **how: Any) -> tuple[Cascade, Elsewhere]:
    repo = estate.project(name).row.repo_id
    forge: Any = Elsewhere(watch.everyone[repo].forge, **how)
    return Cascade({**watch.everyone, repo: replace(watch.everyone[repo], forge=forge)}), forge


def test_a_test_that_is_red_by_chance_stops_nobody(two: Estate) -> None:
    watch, forge = with_forge(cascade(two), two, "core", runs_ci=True)
    forge.answers = ["failure"]
    watch.look()
    assert two.ci() == {"core": "green", "shop": "green"} and two.events("repo.red") == []


def test_on_a_forge_elsewhere_ci_is_awaited_and_one_without_ci_is_not(two: Estate) -> None:
    two.commit(
        "core", {"damascus.toml": toml("core", (), "", "[ci]\nno_run_seconds = 0.2\nlook_seconds = 0.01")}, "forge"
    )
    watch, forge = with_forge(cascade(two), two, "core")
    forge.answers = [None, "running", "success"]
    watch.look()
    assert two.ci() == {"core": "pending", "shop": "pending"}
    eventually(lambda: (watch.look(), two.ci())[1] == {"core": "green", "shop": "green"}, what="CI elsewhere")
    two.commit("core", {"more": "x"}, "no run will begin for this one")
    forge.answers = [None] * 1000
    eventually(lambda: (watch.look(), two.ci())[1] == {"core": None, "shop": "green"}, what="patience")


def test_a_main_that_turns_red_on_its_forge_is_searched_for_with_its_own_jobs(two: Estate) -> None:
    watch, forge = with_forge(cascade(two), two, "shop")
    forge.answers = ["success"]
    watch.look()
    assert two.ci() == {"core": "green", "shop": "green"}
    culprit = two.commit("core", {"core.py": RED}, "Raise the price")
    forge.answers = ["failure"] * 1000
    watch._due.clear()
    watch.look()
    [asked] = two.questions()
    assert f"since the commit {culprit[:7]} of core" in asked["question"]


def test_without_an_edge_no_main_is_tested(estate: Estate) -> None:
    estate.repo("core", {"core.py": GREEN}, jobs=OWN)
    estate.repo("shop", {"check.py": CHECK}, jobs="false")
    cascade(estate).look()
    assert estate.ci() == {"core": None, "shop": None}
    assert not (estate.project("shop").folder / "main").exists()


def test_a_repository_without_ci_jobs_is_not_waited_for(estate: Estate) -> None:
    estate.repo("core", {"core.py": GREEN})
    estate.repo("shop", {"check.py": CHECK}, needs=("core",), jobs=f"{python()} check.py")
    cascade(estate).look()
    assert estate.ci() == {"core": None, "shop": "green"}


def test_an_edge_on_main_counts_without_a_new_start_and_a_bad_one_holds(
    two: Estate, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = cascade(two)
    watch.look()
    two.commit("shop", {"damascus.toml": toml("shop", ("core",), f"{python()} check.py", "max_workers = 1")}, "a bound")
    watch.look()
    shop = next(repo for repo in graph.repos(two.db, two.project("shop").row.id) if repo.name == "shop")
    assert shop.max_workers == 1
    two.commit("shop", {"damascus.toml": toml("shop", ("nobody",), f"{python()} check.py")}, "a mistake")
    watch.look()
    watch.look()
    [hold] = two.query("SELECT * FROM repo_holds WHERE released_at IS NULL")
    assert hold["repo_id"] == shop.id and "shop needs the repository 'nobody'" in hold["reason"]
    assert graph.graph(two.db, two.project("shop").row.id).edges  # what held before holds


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64])
def test_the_first_red_commit_is_found_in_few_steps(length: int) -> None:
    commits = [Sha(f"{n:040x}") for n in range(length)]
    for culprit in commits:
        asked: list[Sha] = []

        def is_red(commit: Sha, culprit: Sha = culprit, asked: list[Sha] = asked) -> bool:
            asked.append(commit)
            return commit >= culprit

        assert first_red(commits, is_red) == culprit
        assert len(asked) <= max(length - 1, 0).bit_length()
