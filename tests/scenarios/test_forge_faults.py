"""Whole lives of stories on the real Gitea with its real runner, on good days and on bad ones: each story has one pull
and lands once, whatever is lost on the way, and nobody is charged for it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.trial_forge.server import GiteaServer
from tests.engine.shell_stories import good
from tests.real_forge import VERSION, WORKFLOW, started
from tests.scenarios.fault_proxy import FaultProxy, Trouble
from tests.scenarios.on_gitea import GiteaYard
from tests.waiting import eventually

PUSH = "/git-receive-pack$"
ONCE = """\
tried=$HOME/tried-$(git rev-parse HEAD)
if test ! -e "$tried"; then touch "$tried"; {then}; fi
"""
"""What the first run of a commit does; the second is green."""
FLAKY = ONCE.format(then="echo a bad day; exit 1")
AS_LONG_AS_ITS_STEP = "while kill -0 $PPID; do sleep 0.1; done"
"""A runner in host mode that cancels a job ends the step's shell alone, and waits for what that started."""
UNTIL_GO = 'while ! test -e "$HOME/go"; do sleep 0.1; done'


@pytest.fixture
def proxy(real_gitea: GiteaServer) -> Iterator[FaultProxy]:
    with FaultProxy.before(real_gitea.url) as proxy:
        yield proxy


@pytest.mark.req("D9", "W1")
def test_three_stories_at_once_from_their_pulls_to_main(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea)
    start = site.main()
    site.add_good("one", "two", "three")
    site.go(before=together(3))
    site.check("one", "two", "three")
    assert site.git("rev-list", "--count", f"{start}..forge/main") == "3", "three commits and nothing else"
    tested_on = [event["body"]["branch"] for name in ("one", "two", "three") for event in pushes(site, name)]
    assert {f"feat/{name}" for name in ("one", "two", "three")} < set(tested_on)
    assert sum(branch.startswith("mq/main/") for branch in tested_on) >= 2, "those behind were tested on those ahead"
    assert not [branch for branch in site.branches() if branch.startswith("mq/")], "and left nothing behind"


def together(count: int) -> Callable[..., None]:
    """The agents of all stories begin at the same time, so all of them begin on the same main."""
    barrier = threading.Barrier(count)
    return lambda *_: barrier.wait(60) and None


def pushes(site: GiteaYard, name: str) -> list[dict[str, Any]]:
    return site.events(name, "build.pushed")


# ── the answer is lost, what was asked for is done ────────────────────────────────────────────────────


@pytest.mark.req("D9", "D20", "W19")
@pytest.mark.parametrize(("trouble", "tries"), [("dropped", 3), ("502", 3), ("dropped", 1)])
def test_every_answer_that_matters_is_lost_once(
    real_gitea: GiteaServer, proxy: FaultProxy, tmp_path: Path, database_url: str, trouble: Trouble, tries: int
) -> None:
    """Also where a call is not tried again at once: the story waits then, and finds what it did."""
    files = {"check": FLAKY}
    site = GiteaYard(
        tmp_path, database_url, real_gitea, through=proxy.url, files=files, retry=f"call_attempts = {tries}"
    )
    asked = {
        "push": ("POST", PUSH, b"refs/heads/feat/one"),
        "pull": ("POST", "/pulls$", b"feat/one"),
        "rerun": ("POST", "/rerun-failed-jobs$", b""),
        "comment": ("POST", "/comments$", b"Flaky"),
        "land": ("POST", PUSH, b" refs/heads/main"),
        "close": ("POST", "/pulls/[0-9]+/merge$", b"manually-merged"),
        "tidy": ("POST", PUSH, b" %b refs/heads/feat/one" % (b"0" * 40)),
    }
    once = dict.fromkeys(asked, 1)
    lost = {what: proxy.lose(*request, trouble=trouble) for what, request in asked.items()}
    site.add_good("one")
    site.go()
    assert {what: rule.struck for what, rule in lost.items()} == once, site.told()
    site.check("one")
    done = {what: proxy.count(*request) for what, request in asked.items()}
    assert done == once | {"push": 2}, "done once: the branch was pushed, and deleted once it had landed"
    assert [len(site.comments("one", about)) for about in ("flaky", "proof")] == [1, 1]
    waits = len(site.events("one", "phase.transient_retry"))
    assert waits == 0 if tries > 1 else waits >= 5


@pytest.mark.req("W19", "T1")
def test_a_forge_that_can_not_be_reached_is_waited_for(
    real_gitea: GiteaServer, proxy: FaultProxy, tmp_path: Path, database_url: str
) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea, through=proxy.url)
    look = proxy.hold("GET", "/actions/runs")
    site.add_good("one")
    with site.working():
        assert look.held.wait(60), site.told()
        with proxy.away():
            look.go.set()
            eventually(lambda: site.events("one", "phase.transient_retry"), 60, "the story to wait")
    site.check("one")


# ── the forge's own bad days ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def shaky() -> Iterator[GiteaServer]:
    """A server that may be restarted, whose runner may be killed; a job of a dead runner fails within 20 s."""
    with started(VERSION) as server:
        yield server


@pytest.fixture
def runner(shaky: GiteaServer) -> Iterator[Path]:
    """Its home: what jobs leave there can be seen."""
    shaky.start_runner()
    yield shaky.folder / "runner-one" / "home"
    shaky.stop_runner()


@pytest.mark.req("W7", "W19", "D20")
def test_a_runner_that_is_killed_in_the_middle_of_a_job_costs_nobody_an_attempt(
    shaky: GiteaServer, runner: Path, tmp_path: Path, database_url: str
) -> None:
    """The job of a dead runner is red in the end, and its log breaks off: it is run again, on the same commit."""
    site = GiteaYard(tmp_path, database_url, shaky, files={"check": ONCE.format(then="sleep 600")})
    site.add_good("one")
    with site.working():
        eventually(lambda: list(runner.glob("tried-*")), 90, "the job to run")
        shaky.stop_runner(kill=True)
        shaky.start_runner()
    [again] = site.events("one", "ci.again")
    assert again["body"]["why"] == "infrastructure", again
    assert len(list(runner.glob("tried-*"))) == 1, "one commit was tested, twice"
    site.check("one")
    assert site.comments("one") == [], "nothing is flaky"


@pytest.mark.req("W19", "T1", "D20")
def test_gitea_restarts_while_ci_runs(shaky: GiteaServer, runner: Path, tmp_path: Path, database_url: str) -> None:
    site = GiteaYard(tmp_path, database_url, shaky, files={"check": ONCE.format(then=UNTIL_GO)})
    before = set(runner.glob("tried-*"))
    site.add_good("one")
    with site.working():
        eventually(lambda: set(runner.glob("tried-*")) - before, 90, "the job to run")
        shaky.stop_gitea(kill=True)
        eventually(lambda: site.events("one", "phase.transient_retry"), 60, "the story to wait")
        shaky.restart()
        (runner / "go").touch()
    site.check("one")


# ── red, and no verdict at all ────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W7", "W5")
def test_a_story_that_is_red_in_ci_is_repaired_and_lands(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    """Red twice on the same commit: only then it goes back to the agent, who is told what CI said."""
    forbids = "if grep -l forbidden *.sh; then echo CI found it; exit 1; fi\n"
    site = GiteaYard(tmp_path, database_url, real_gitea, files={"check": forbids})
    site.add_good("one")
    site.tries["one"].insert(0, good("one", **{"one.sh": "echo hello one # forbidden\n"}))
    agent = site.go()
    assert site.item("one")["phase"] == "done", site.told()
    [rejected] = site.events("one", "attempt.rejected")
    assert rejected["body"]["verdict"] == "ci_failed"
    assert [event["body"]["why"] for event in site.events("one", "ci.again")] == ["doubt"]
    (_, first, _), (_, second, _) = agent.given
    assert "CI found it" in second and "CI found it" not in first
    assert site.commits("one") == [site.item("one")["merged_commit"]]
    [pull] = site.pulls("one")
    assert pull["merged"] and pull["head"]["sha"] == site.item("one")["merged_commit"], "the same pull, repaired"


@pytest.mark.req("W7", "D20")
def test_a_run_that_somebody_cancels_is_run_again_and_charged_to_nobody(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    alone = "concurrency:\n  group: one\n  cancel-in-progress: true\n"
    one_at_a_time = WORKFLOW.replace('"mq/**"', '"stop/**"') + alone
    check = 'test "$(git log -1 --format=%s)" = start && exit 0\n' + ONCE.format(then=AS_LONG_AS_ITS_STEP)
    files = {"check": check, ".gitea/workflows/ci.yml": one_at_a_time}
    site = GiteaYard(tmp_path, database_url, real_gitea, files=files)
    site.add_good("one")
    with site.working():
        runs = eventually(lambda: pushes(site, "one"), 90, "the push")
        commit = runs[0]["body"]["commit"]
        home = real_gitea.folder / "runner-one" / "home"
        eventually((home / f"tried-{commit}").exists, 90, "the job to run")
        site.at_forge("push", "--quiet", "forge", "main:refs/heads/stop/it")
    [again] = site.events("one", "ci.again")
    assert again["body"]["why"] == "infrastructure" and "cancelled" in again["body"]["jobs"]["test"], again
    site.check("one")
    assert site.item("one")["merged_commit"] == commit and site.comments("one") == []


# ── main is not ours alone ────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D20", "W1")
def test_a_push_to_main_by_hand_builds_both_in_the_queue_anew(
    real_gitea: GiteaServer, proxy: FaultProxy, tmp_path: Path, database_url: str
) -> None:
    """And the answer to a push of the queue's own branch is lost, too."""
    site = GiteaYard(tmp_path, database_url, real_gitea, through=proxy.url)
    landing = proxy.hold("POST", PUSH, b" refs/heads/main")
    lost = proxy.lose("POST", PUSH, b" refs/heads/mq/main/")
    site.add_good("one", "two")
    with site.working(before=together(2)):
        assert landing.held.wait(90), site.told()
        eventually(lambda: len(site.queued()) == 2, 90, "both in the queue")
        by_hand = site.commit({"by-hand": "x\n"}, "a person's own")
        site.push_main()
        landing.go.set()
    site.check("one", "two")
    assert lost.struck == 1
    assert site.git("rev-parse", "forge/main~2") == by_hand, "both are on top of it"
    rejected = [event["body"] for name in ("one", "two") for event in site.events(name, "attempt.rejected")]
    assert rejected == []


@pytest.mark.req("D9", "W1")
def test_a_protected_main_is_moved_by_the_forges_merge_to_exactly_the_tested_commit(
    real_gitea: GiteaServer, proxy: FaultProxy, tmp_path: Path, database_url: str
) -> None:
    """Also for the second one, which was tested on a branch of the queue: the pull gets that commit. The answers to
    both merges are lost."""
    site = GiteaYard(tmp_path, database_url, real_gitea, through=proxy.url)
    site.api("POST", "/branch_protections", {"rule_name": "main", "enable_push": False})
    merge = ("POST", "/pulls/[0-9]+/merge$", b"fast-forward-only")
    lost = [proxy.lose(*merge), proxy.lose(*merge, trouble="502")]
    site.add_good("one", "two")
    site.go(before=together(2))
    site.check("one", "two")
    assert [loss.struck for loss in lost] == [1, 1] and proxy.count(*merge) == 2
    for name in ("one", "two"):
        [pull] = site.pulls(name)
        assert pull["head"]["sha"] == site.item(name)["merged_commit"]
    assert {site.item(name)["merged_commit"] for name in ("one", "two")} == set(
        site.git("rev-list", "-2", "forge/main").split()
    )
