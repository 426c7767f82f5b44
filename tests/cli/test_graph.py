"""`damascus graph` draws the repositories, `why` tells their waits, answers about a red main are things that happen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.graph import MainState
from damascus.store import graph, leases, people
from damascus.store.graph import Judgement
from tests.cli.conftest import Cli, Ran
from tests.cli.states import WORKER
from tests.estate import Estate, toml
from tests.store.lane import LEASE
from tests.yard import python, story

pytestmark = pytest.mark.req("W13", "W20")

CHECK = (
    "import os, sys\nsys.path.insert(0, os.environ['DAMASCUS_UPSTREAM_CORE'])\nimport core\nassert core.price() == 7\n"
)


@pytest.fixture
def three(tmp_path: Path, database_url: str) -> Iterator[Estate]:
    """core ← shop ← web, judged green."""
    made = Estate(tmp_path, database_url)
    made.repo("core", {"core.py": "def price():\n    return 7\n"}, jobs=f"{python()} core.py")
    made.repo("shop", {"check.py": CHECK}, needs=("core",), jobs=f"{python()} check.py")
    made.repo("web", {"page": "x"}, needs=("shop",), jobs="true")
    made.work("core")
    yield made
    made.db.close()


@pytest.fixture
def at(three: Estate, command: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for key, value in three.environ.items():
        monkeypatch.setenv(key, value)

    def run(name: str, *words: str) -> Ran:
        monkeypatch.chdir(three.path(name))
        return command(*words)

    return run


def claim(three: Estate, count: int = 5) -> list[str]:
    project = three.project("core").row
    worker = {"id": WORKER, "host": "elsewhere", "pid": 4242, "slots": 2, "confinement": "bubblewrap"}
    three.db.do("register_worker", project=project.id, **worker)
    return [str(item.story_id) for item in leases.claim(three.db, project.id, WORKER, count, LEASE)]


def judged(three: Estate, name: str, state: MainState) -> None:
    row = three.project(name).row
    graph.judge(three.db, row.id, Judgement(row.repo_id, three.main(name), {}, state, "test failure"))


def test_the_tree_has_roots_on_top_and_says_who_works_and_who_waits(three: Estate, at: Cli) -> None:
    three.add("core", story("A-1"))
    three.add("web", story("C-1"), story("C-2"))
    assert claim(three) == ["A-1"]
    lines = at("web", "graph").out.splitlines()
    assert lines[0] == "core"
    assert lines[1] == f"└── core  main {three.main('core')[:7]}  green"
    assert lines[2] == "    ├── A-1 works here"
    assert lines[3] == f"    └── shop  main {three.main('shop')[:7]}  green"
    assert lines[4] == f"        └── web  main {three.main('web')[:7]}  green"
    assert lines[5] == "            └── C-1, C-2 wait for A-1, in its chain"
    assert lines[6] == "Next: damascus status"


def test_json_tells_the_same(three: Estate, at: Cli) -> None:
    three.add("core", story("A-1"))
    three.add("web", story("C-1"))
    claim(three)
    people.hold(three.db, three.project("core").row.id, three.project("shop").row.repo_id, "coordinated")
    told = {repo["name"]: repo for repo in at("core", "graph", "--json").json["repos"]}
    assert (told["shop"]["needs"], told["shop"]["needed_by"]) == (["core"], ["web"])
    assert told["core"]["ci"]["state"] == "green" and told["core"]["ci"]["commit"] == three.main("core")
    assert told["web"]["waiting"] == [{"story_id": "C-1", "kind": "chain", "for": "for A-1, in its chain"}]
    assert [hold["reason"] for hold in told["shop"]["holds"]] == ["coordinated"]


def test_red_holds_bounds_and_further_needs_are_drawn(three: Estate, at: Cli) -> None:
    three.repo("docs", {"d": "x"}, needs=("core", "web"), more="max_workers = 1")
    three.work("core")
    judged(three, "core", "red")
    three.add("shop", story("B-1"))
    assert claim(three) == []
    people.hold(three.db, three.project("core").row.id, three.project("web").row.repo_id, "a key was pushed")
    told = at("core", "graph").out
    assert "red: test failure" in told and "B-1 waits until core is green" in told
    assert "held: a key was pushed" in told and "also needs core" in told and "no CI of its own" in told
    assert "Next: damascus inbox" in told


def test_a_project_with_one_repository_is_a_small_tree(tmp_path: Path, database_url: str, command: Cli,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    alone = Estate(tmp_path, database_url)
    alone.repo("core", {"a": "x"})
    for key, value in alone.environ.items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(alone.path("core"))
    told = command("graph").out
    assert "CI is not asked" in told and "damascus init --joins" in told
    alone.db.close()


# ── why and status ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X3")
def test_why_of_each_wait_of_the_graph(three: Estate, at: Cli) -> None:
    three.add("core", story("A-1"))
    three.add("shop", story("B-1"))
    claim(three)
    told = " ".join(at("core", "why", "B-1").out.split())
    assert "B-1 has not been claimed: A-1 is worked in core" in told and "roots first" in told
    assert "Nobody needs to act. It is woken when A-1 is on main." in told
    assert "waits for A-1, in a repository of its chain" in at("core", "status").out
    people.cancel(three.db, three.project("core").row.id, "A-1")
    judged(three, "core", "red")
    claim(three)
    told = " ".join(at("shop", "why", "B-1").out.split())
    assert f"main of core, which shop needs, has been red at {three.main('core')[:7]}" in told
    assert "Whoever broke core must repair it: damascus inbox" in told
    assert "waits until a repository that it needs is green" in at("shop", "status").out
    judged(three, "core", "pending")
    judged(three, "core", "green")
    three.commit("core", {"more": "x"}, "moved")
    graph.saw_main(three.db, three.project("core").row.repo_id, three.main("core"))
    claim(three)
    assert "waits until CI has judged core's main, which shop needs" in " ".join(at("core", "why", "B-1").out.split())


@pytest.mark.req("X3")
def test_why_of_a_full_repository_and_of_a_hold_in_the_chain(three: Estate, at: Cli) -> None:
    three.commit("web", {"damascus.toml": toml("web", ("shop",), "true", "max_workers = 1")}, "a bound")
    three.work("core")
    three.add("web", story("C-1"), story("C-2"))
    assert claim(three) == ["C-1"]
    told = " ".join(at("web", "why", "C-2").out.split())
    assert "1 story is worked in web already, as many as [repo] max_workers allows" in told
    assert "waits for a place in its repository" in at("web", "status").out
    assert at("core", "hold", "\u200b").code == 2
    assert at("core", "hold", "--repo", "core", "a", "key", "was", "pushed").code == 0
    told = " ".join(at("web", "why", "C-1").out.split())
    assert "C-1 waits: core, a repository of its chain, has been held" in told and "damascus release core" in told
    assert "core goes on." in at("web", "release", "core").out
    assert "was not held" in at("web", "release", "core").out
    assert "has no repository 'nobody'" in at("web", "release", "nobody").error


# ── answers ───────────────────────────────────────────────────────────────────────────────────────────


Broken = tuple[Estate, str, dict[str, Any]]


@pytest.fixture
def broken(three: Estate) -> Broken:
    culprit = three.commit("core", {"core.py": "def price():\n    return 8\n"}, "Raise the price")
    three.work("core")
    [asked] = three.questions()
    return three, culprit, asked


def test_revert_queues_a_story_upstream_that_undoes_the_commit(broken: Broken, at: Cli) -> None:
    three, culprit, asked = broken
    assert f"[1] revert {culprit[:7]} in core" in at("web", "inbox").out
    ran = at("web", "answer", str(asked["id"]), "1")
    assert ran.code == 0 and f"revert-{culprit[:7]} is queued for core" in ran.out
    item = three.item(f"revert-{culprit[:7]}")
    assert item["repo_id"] == three.project("core").row.repo_id
    assert (item["file_scope"], item["phase"]) == (["core.py"], "build")
    undo = three.agent(
        """
        pathlib.Path("core.py").write_text("def price():\\n    return 7\\n")
        """
    )
    three.work("shop", undo)
    assert three.item(f"revert-{culprit[:7]}")["phase"] == "done"
    assert three.ci() == {"core": "green", "shop": "green", "web": "green"} and three.questions() == []


def test_fix_queues_a_rough_story_downstream(broken: Broken, at: Cli) -> None:
    three, culprit, asked = broken
    ran = at("core", "answer", str(asked["id"]), "2")
    assert ran.code == 0 and f"fix-after-{culprit[:7]} is queued for shop, phase spec" in ran.out
    item = three.item(f"fix-after-{culprit[:7]}")
    assert item["repo_id"] == three.project("shop").row.repo_id and culprit in bytes(item["spec"]).decode()


def test_coordinate_holds_both_until_they_are_released(broken: Broken, at: Cli) -> None:
    three, _, asked = broken
    ran = at("core", "answer", str(asked["id"]), "3")
    assert ran.code == 0 and "damascus release core && damascus release shop" in ran.out
    three.add("core", story("A-9"))
    assert claim(three) == [] and three.item("A-9")["wait_kind"] == "hold"
    assert at("core", "release", "core").code == 0 and at("core", "release", "shop").code == 0
    assert claim(three) == ["A-9"]


def test_run_its_ci_again_judges_anew_and_asks_anew_if_it_is_still_red(broken: Broken, at: Cli) -> None:
    three, culprit, asked = broken
    assert at("core", "answer", str(asked["id"]), "4").code == 0
    assert three.ci()["shop"] == "pending" and three.questions() == []
    three.work("core")
    [again] = three.questions()
    assert again["id"] != asked["id"] and culprit[:7] in again["question"]


def test_own_words_close_the_question_and_nothing_else(broken: Broken, at: Cli) -> None:
    three, _, asked = broken
    assert at("core", "answer", str(asked["id"]), "I", "will", "look").code == 0
    assert three.questions() == [] and three.ci()["shop"] == "red" and three.query("SELECT * FROM work_items") == []
