"""Repositories of one chain are never worked at once; siblings are; roots go first and nobody starves (W13)."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import psycopg
import pytest

from damascus.domain.errors import UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.graph import Declared, MainState
from damascus.domain.outcome import GivenBack, NeedsPerson, Rejected, Wait
from damascus.domain.verdict import Verdict
from damascus.store import graph, people
from damascus.store.db import Database
from damascus.store.graph import Judgement
from tests.store.lane import Lane, waits_for_a_lock
from tests.waiting import eventually

pytestmark = pytest.mark.req("W13")


@dataclass(frozen=True)
class Net:
    """core ← shop ← web, core ← docs: two steps down one way, one the other."""

    core: Lane
    shop: Lane
    web: Lane
    docs: Lane

    @property
    def project(self) -> int:
        return self.core.project.id

    def needs(self, lane: Lane, *names: str, most: int = 0) -> bool:
        said = Declared(lane.project.repo_id, lane.project.repo, names, most)
        return graph.declare(self.core.db, self.project, [said])

    def judged(self, lane: Lane, state: MainState | None, sha: str = "a" * 40) -> str | None:
        return graph.judge(lane.db, self.project, Judgement(lane.project.repo_id, sha, {}, state, "test"))

    def all_green(self) -> None:
        for lane in (self.core, self.shop, self.web, self.docs):
            self.judged(lane, "green")

    def claimed(self, count: int = 9) -> list[str]:
        return [str(item.story_id) for item in self.core.claim(count)]


def made(db: Database, *, linked: bool = True) -> Net:
    core = Lane(db)
    net = Net(core, core.beside("store"), core.beside("web"), core.beside("docs"))
    if linked:
        net.needs(net.shop, "shop")
        net.needs(net.web, "store")
        net.needs(net.docs, "shop")
        net.all_green()
    return net


@pytest.fixture
def net(db: Database) -> Iterator[Net]:
    """The first repository is called as the project: shop. So `core` here is named shop, `shop` store."""
    net = made(db)
    yield net
    assert net.core.violations() == []


def settle_done(net: Net, name: str) -> None:
    from tests.store.lane import item_of

    net.core.land(item_of(net.core, name))
    net.all_green()


def test_a_story_in_a_repository_keeps_others_out_of_its_chain_above_and_below(net: Net) -> None:
    net.shop.add("middle", priority=0)
    assert net.claimed() == ["middle"]
    net.core.add("root")
    net.web.add("leaf")
    net.docs.add("side")
    assert net.claimed() == ["side"]  # a sibling of where the story works
    assert net.core.states() == {"middle": "leased", "root": "chain", "leaf": "chain", "side": "leased"}
    assert net.core.row("root")["wait_key"] == str(net.core.row("middle")["id"])


def test_the_database_itself_refuses_a_second_repository_of_the_chain(net: Net) -> None:
    net.core.add("root", priority=0)
    root = net.core.claim_one()
    net.web.add("leaf")
    leaf = net.core.row("leaf")
    with pytest.raises(psycopg.errors.ExclusionViolation, match="never_two_repositories_of_one_chain"):
        net.core.execute(
            "INSERT INTO repo_locks (item_id, repo_id, works) VALUES (%s, %s, true)", leaf["id"], leaf["repo_id"]
        )
    net.core.land(root)


def test_siblings_are_worked_at_once_and_several_stories_of_one_repository_too(net: Net) -> None:
    net.shop.add("one", "two", priority=0)
    net.docs.add("side", priority=0)
    assert sorted(net.claimed()) == ["one", "side", "two"]


def test_locks_are_transitive_and_held_through_waits_until_done(net: Net) -> None:
    net.core.add("root", priority=0)
    root = net.core.claim_one()
    net.web.add("leaf", priority=0)
    assert net.claimed() == []
    net.core.settle(root, Wait("ci", "sha", timedelta(hours=1)))
    assert net.claimed() == [] and net.core.states() == {"root": "ci", "leaf": "chain"}
    net.core.execute("UPDATE work_items SET not_before = now() - interval '1 s' WHERE story_id = 'root'")
    assert net.claimed() == ["root"]
    settle_done(net, "root")
    assert net.claimed() == ["leaf"]


def test_a_story_that_goes_back_to_the_line_keeps_its_lock(net: Net) -> None:
    net.core.add("root", priority=0)
    root = net.core.claim_one()
    net.shop.add("down", priority=0)
    net.core.settle(root, Rejected(Verdict.TESTS_FAILED, VerdictFeedback()))
    assert net.claimed() == ["root"]
    net.core.settle(net_item(net, "root"), GivenBack())
    assert net.claimed() == ["root"]
    net.core.expire(net_item(net, "root"))
    net.core.rescue()
    assert net.claimed() == ["root"] and net.core.states()["down"] == "chain"


def net_item(net: Net, name: str):  # type: ignore[no-untyped-def]
    from tests.store.lane import item_of

    return item_of(net.core, name)


@pytest.mark.parametrize("end", ["blocked", "cancelled"])
def test_blocked_and_cancelled_stories_free_the_chain_and_a_resumed_one_takes_it_again(net: Net, end: str) -> None:
    net.core.add("root", priority=0)
    root = net.core.claim_one()
    net.shop.add("down", priority=0)
    assert net.claimed() == []
    if end == "blocked":
        net.core.settle(root, NeedsPerson(None, "?", ("a",), VerdictFeedback()))
    else:
        people.cancel(net.core.db, net.project, "root")
    assert net.claimed() == ["down"]
    if end == "blocked":
        people.retry(net.core.db, net.project, "root")
        assert net.claimed() == [] and net.core.states()["root"] == "chain"
        settle_done(net, "down")
        assert net.claimed() == ["root"]


def test_roots_go_first_until_a_story_is_overdue(net: Net) -> None:
    net.web.add("leaf")
    net.core.add("root")
    assert net.core.row("leaf")["deadline_at"] < net.core.row("root")["deadline_at"]
    assert net.claimed() == ["root"]
    settle_done(net, "root")
    net.core.execute("UPDATE work_items SET deadline_at = now() - interval '1 s' WHERE story_id = 'leaf'")
    net.core.add("another")
    assert net.claimed() == ["leaf"]


def test_a_root_that_can_not_start_does_not_hold_up_what_depends_on_it(net: Net) -> None:
    """The upstream story depends on the downstream one: the other way round than its repositories."""
    net.web.add("leaf")
    net.core.add("root", depends_on=["leaf"])
    assert net.claimed() == ["leaf"]
    settle_done(net, "leaf")
    assert net.claimed() == ["root"]


def test_a_steady_flow_above_does_not_starve_who_waits_below(net: Net) -> None:
    net.core.add("r1", scope=["1.py"], priority=0)
    net.core.claim_one()
    net.web.add("leaf")
    assert net.claimed() == []
    net.core.execute("UPDATE work_items SET deadline_at = now() - interval '31 minutes' WHERE story_id = 'leaf'")
    net.core.add("r2", scope=["2.py"])
    assert net.claimed() == []  # nobody with a later deadline slips in before the one that is overdue
    assert net.core.states() == {"r1": "leased", "leaf": "chain", "r2": "chain"}
    settle_done(net, "r1")
    assert net.claimed() == ["leaf"]
    settle_done(net, "leaf")
    assert net.claimed() == ["r2"]


def test_a_bound_on_one_repository_and_who_is_woken_when_there_is_room(net: Net) -> None:
    net.needs(net.shop, "shop", most=2)
    net.shop.add("a", "b", "c", "d")
    assert net.claimed() == ["a", "b"]
    assert net.core.states() == {"a": "leased", "b": "leased", "c": "repo_full", "d": "repo_full"}
    settle_done(net, "a")
    assert net.claimed() == ["c"]
    people.cancel(net.core.db, net.project, "b")
    assert net.claimed() == ["d"]
    assert net.needs(net.shop, "shop", most=0) is True


def test_a_place_is_not_lost_on_one_that_can_not_use_it(net: Net) -> None:
    net.needs(net.shop, "shop", most=1)
    net.shop.add("a", "b", "c")
    assert net.claimed() == ["a"]
    other = "SELECT id FROM work_items WHERE story_id = 'c'"
    net.core.execute(f"UPDATE work_items SET depends_on = ARRAY[({other})] WHERE story_id = 'b'")
    settle_done(net, "a")
    assert net.claimed() == ["c"]


def test_a_single_repository_with_a_bound(db: Database) -> None:
    lane = Lane(db)
    graph.declare(db, lane.project.id, [Declared(lane.project.repo_id, "shop", (), 1)])
    lane.add("a", "b")
    first = lane.claim(5)
    assert [item.story_id for item in first] == ["a"] and lane.states()["b"] == "repo_full"
    lane.land(first[0])
    assert [item.story_id for item in lane.claim(5)] == ["b"]
    assert lane.violations() == []


def test_a_worker_claims_only_of_the_repositories_that_its_host_has(net: Net) -> None:
    net.core.execute(
        "INSERT INTO workers (id, host, pid, slots, repos) VALUES ('here', 'h', 1, 1, %s)", [net.docs.project.repo_id]
    )
    net.core.add("root")
    net.docs.add("side")
    assert [item.story_id for item in net.core.claim(5, "here")] == ["side"]  # roots that it can't work are no reason
    assert net.core.states() == {"root": "ready", "side": "leased"}


def test_an_edge_that_comes_later_counts_from_then_on(db: Database) -> None:
    net = made(db, linked=False)
    net.core.add("root", priority=0)
    net.shop.add("down", priority=0)
    assert sorted(net.claimed()) == ["down", "root"]  # they began before it was there
    assert net.needs(net.shop, "shop") is True and net.needs(net.shop, "shop") is False
    net.all_green()
    net.core.add("later", scope=["later.py"], priority=0)
    net.shop.add("later-too", scope=["later-too.py"], priority=0)
    assert net.claimed() == []
    settle_done(net, "root")
    assert net.claimed() == ["later-too"]
    settle_done(net, "down")
    settle_done(net, "later-too")
    assert net.claimed() == ["later"]


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        (("nobody",), "needs the repository 'nobody'"),
        (("web",), "in a circle"),
        (("shop",), "in a circle: shop → shop"),
    ],
)
def test_unknown_names_and_circles_are_refused_and_nothing_changes(net: Net, needs: tuple[str, ...], said: str) -> None:
    before = graph.graph(net.core.db, net.project)
    with pytest.raises(UsageError, match=said):
        net.needs(net.core, *needs)
    assert graph.graph(net.core.db, net.project) == before


@pytest.mark.req("W20")
def test_what_depends_on_a_red_repository_pauses_and_goes_on_when_it_is_green(net: Net) -> None:
    assert net.judged(net.core, "red", "b" * 40) == "red"
    net.web.add("leaf", priority=0)
    net.docs.add("side", priority=0)
    assert net.claimed() == [] and net.core.states() == {"leaf": "upstream", "side": "upstream"}
    assert net.judged(net.core, "pending", "c" * 40) is None  # a fix is there and being tested
    assert net.claimed() == []
    assert net.judged(net.core, "green", "c" * 40) == "green"
    for lane in (net.shop, net.web, net.docs):
        net.judged(lane, "green")
    assert sorted(net.claimed()) == ["leaf", "side"]
    assert [kind for kind in net.core.events() if kind.startswith("repo.")] == ["repo.red", "repo.green"]


@pytest.mark.req("W20")
def test_who_is_paused_lets_the_cure_in_and_keeps_its_files(net: Net) -> None:
    net.shop.add("down", priority=0)
    down = net.core.claim_one()
    net.judged(net.core, "red", "b" * 40)
    net.core.add("cure", priority=0)
    assert net.claimed() == []  # the worker that is at it ends its run first
    net.core.settle(down, Wait("ci", "sha", timedelta(0)))
    assert net.claimed() == ["cure"]
    assert net.core.states() == {"down": "upstream", "cure": "leased"}
    assert len(net.core.query("SELECT 1 AS n FROM active_scopes WHERE item_id = %s", down.id)) == 1
    net.core.land(net_item(net, "cure"))
    assert net.claimed() == []  # landed, and not yet known to be green
    net.all_green()
    assert net.claimed() == ["down"]


def test_a_landing_makes_what_depends_on_it_wait_until_ci_has_told(net: Net) -> None:
    net.core.add("root", priority=0)
    root = net.core.claim_one()
    net.web.add("leaf", priority=0)
    net.core.land(root)
    assert {repo.name: repo.ci_state for repo in graph.repos(net.core.db, net.project)} == dict.fromkeys(
        ("shop", "store", "web", "docs"), "pending"
    )
    assert net.claimed() == [] and net.core.states()["leaf"] == "upstream"
    net.judged(net.core, "green", "c" * 40)
    net.judged(net.shop, None)  # it has no CI that could tell: nobody waits for that
    assert net.claimed() == ["leaf"]


def test_a_hold_stops_the_chain_and_its_release_wakes_it(net: Net) -> None:
    net.shop.add("down", priority=0)
    net.docs.add("side", priority=0)
    assert sorted(net.claimed()) == ["down", "side"]
    people.hold(net.core.db, net.project, net.shop.project.repo_id, "a key was pushed")
    net.web.add("leaf")
    assert net.claimed() == []
    assert net.core.states() == {"down": "hold", "side": "leased", "leaf": "hold"}
    people.release_hold(net.core.db, net.project, net.shop.project.repo_id)
    assert net.claimed() == ["down"]


def test_no_wake_up_is_lost_to_a_settle_in_flight(net: Net, database_url: str) -> None:
    net.core.add("root", priority=0)
    net.core.claim_one()
    net.shop.add("down", priority=0)
    other = Database(database_url)
    landing = other.connection()
    got: list[str] = []
    with landing.transaction():
        row = net.core.row("root")
        landing.execute("UPDATE work_items SET fence = fence WHERE id = %s", (row["id"],))
        landing.execute("SELECT free_scope(%s)", (row["id"],))
        claiming = threading.Thread(target=lambda: got.extend(net.claimed()))
        claiming.start()
        eventually(lambda: not claiming.is_alive() or waits_for_a_lock(landing), what="the claim")
    claiming.join(20)
    other.close()
    assert got == ["down"]
    net.core.execute("DELETE FROM leases; UPDATE work_items SET state = 'ready'")
    net.core.execute("DELETE FROM active_scopes; DELETE FROM repo_locks")


def test_a_lock_whose_story_ended_while_the_graph_came_to_be_is_cleared_away(net: Net) -> None:
    net.core.add("root", priority=0)
    root = net.core.claim_one()
    net.shop.add("down", priority=0)
    assert net.claimed() == []
    locks = net.core.query("SELECT item_id, repo_id, works FROM repo_locks WHERE item_id = %s", root.id)
    net.core.land(root)
    net.all_green()
    for lock in locks:
        text = "INSERT INTO repo_locks (item_id, repo_id, works) VALUES (%s, %s, %s)"
        net.core.execute(text, lock["item_id"], lock["repo_id"], lock["works"])
    assert net.claimed() == ["down"]


def test_a_project_without_a_graph_has_no_locks_at_all(db: Database) -> None:
    lane = Lane(db)
    lane.add("a", "b")
    lane.claim(5)
    assert lane.query("SELECT * FROM repo_locks") == []
