"""Review from the row alone, CI that is red, and the milestones that tell of both."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.shell_stories import FILES, Watched, bad, config, good, shell_story
from tests.yard import Yard

PULLS = ("refs/damascus/pulls/", "refs/damascus/pull-of/")
Boundary = Callable[[str, str], None]


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url, files=FILES)


def once_before(step: str, act: Callable[[], object], point: str = "before") -> Boundary:
    done: list[bool] = []

    def boundary(name: str, where: str) -> None:
        if (name, where) == (step, point) and not done:
            done.append(True)
            act()

    return boundary


def milestones(yard: Yard, name: str) -> list[str]:
    return [row["body"]["milestone"] for row in yard.events(name, "milestone.changed")]


def verdicts(yard: Yard, name: str) -> list[str]:
    return [row["body"]["verdict"] for row in yard.events(name, "attempt.rejected")]


def drop_pulls(yard: Yard) -> None:
    git = yard.project.mirror.git
    for ref in git.out("for-each-ref", "--format=%(refname)", *PULLS).split():
        git.out("update-ref", "-d", ref)


def change_pulls(yard: Yard, **columns: str) -> None:
    git = yard.project.mirror.git
    for ref in git.out("for-each-ref", "--format=%(refname)", *PULLS).split():
        record = json.loads(git.out("cat-file", "blob", ref)) | columns
        blob = yard.project.mirror.write_blob(json.dumps(record).encode())
        git.out("update-ref", ref, blob)


def move_branch(yard: Yard, name: str) -> None:
    """Somebody pushes another commit to the story's branch."""
    mirror = yard.project.mirror
    head = mirror.resolve(f"refs/heads/feat/{name}")
    assert head is not None
    message = mirror.message(head) + "\nmore\n"
    other = mirror.commit_tree(mirror.tree(head), [head], message)
    mirror.git.out("update-ref", f"refs/heads/feat/{name}", other)


@pytest.mark.req("D14", "W3")
@pytest.mark.parametrize("lost", ["no pull", "closed", "other head"])
def test_a_reviewer_that_finds_no_such_pull_sends_back(yard: Yard, lost: str) -> None:
    act = {
        "no pull": lambda: drop_pulls(yard),
        "closed": lambda: change_pulls(yard, state="closed"),
        "other head": lambda: move_branch(yard, "one"),
    }[lost]
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}), boundary=once_before("look", act))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], verdicts(yard, "one")) == ("done", 1, ["no_pr"])
    back = [row["body"] for row in yard.events("one", "phase.transitioned")]
    assert {"from": "review", "to": "build", "why": "rework"} in back
    assert milestones(yard, "one") == [
        "WORKING",
        "PUSHED_TO_CI",
        "DONE",
        "TERMINATED",
        "WORKING",
        "PUSHED_TO_CI",
        "DONE",
    ]


@pytest.mark.req("D14", "D10")
def test_a_row_without_its_pull_never_gets_to_review(yard: Yard) -> None:
    """A claimed success without a PR on the forge: the database refuses the phase, whatever the script says."""
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    with pytest.raises(Exception, match="review_needs_a_pull"):
        yard.query("UPDATE work_items SET pr_url = NULL RETURNING id")


@pytest.mark.req("D18")
def test_the_reviewer_starts_from_the_row_alone(yard: Yard) -> None:
    """Another worker, without the first one's folders: branch, pull and base are all it needs."""
    import shutil

    yard.add(shell_story("one"))

    class Gone(Exception):
        pass

    def die(step: str, point: str) -> None:
        if (step, point) == ("look", "before"):
            raise Gone

    with pytest.raises(Gone):
        run_as_if_killed(yard, die)
    assert yard.item("one")["phase"] == "review"
    for folder in ("worktrees", "runs", "checkouts"):
        shutil.rmtree(yard.project.folder / folder, ignore_errors=True)
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    agent = Watched(yard, {"one": [bad("one")]})
    yard.work(agent)
    assert (yard.item("one")["phase"], agent.given) == ("done", [])
    [looked] = yard.query("SELECT output FROM journal WHERE step = 'look'")
    assert looked["output"]["head"] == yard.item("one")["merged_commit"]
    assert sorted(looked["output"]["files"]) == ["one.sh", "tests/test_one.sh"]
    [judged] = yard.query("SELECT output FROM journal WHERE step = 'review'")
    assert {result["gate"] for result in judged["output"]["results"]} >= {"scope", "tests"}


def run_as_if_killed(yard: Yard, boundary: Boundary, agent: Watched | None = None) -> None:
    """Carry a claimed item until `boundary` raises; its lease stays as a dead worker's does."""
    from datetime import timedelta

    from damascus.engine import lifecycle
    from damascus.engine.run import Run
    from damascus.store import leases
    from damascus.toolset import make_tools

    agent = agent or Watched(yard, {"one": [good("one")]})
    tools = make_tools(yard.app, yard.project, agent, lambda: False, boundary)
    [item] = leases.claim(yard.db, yard.row.id, "gone:boot:1:2", 1, timedelta(seconds=60))
    run = Run(item, tools)
    while True:
        outcome = lifecycle.SCRIPTS[run.item.phase](run)
        following = lifecycle.settle(run, outcome)
        assert following is not None
        run = Run(following, tools, entries={})


@pytest.mark.req("D18")
def test_the_review_judges_the_head_again(yard: Yard) -> None:
    """The candidate's commit is replaced on the row and the branch by one whose tests are red."""
    yard.add(shell_story("one"))

    def swap() -> None:
        mirror = yard.project.mirror
        head = mirror.resolve("refs/heads/feat/one")
        assert head is not None
        from damascus.git.trees import TreeEntry

        edited = mirror.objects.edit(head, {"one.sh": TreeEntry("100644", mirror.write_blob(b"echo bye\n"))})
        parents = list(mirror.objects.commit(head).parents)
        evil = mirror.commit_tree(edited, parents, mirror.message(head))
        mirror.git.out("update-ref", "refs/heads/feat/one", evil)
        yard.query("UPDATE work_items SET candidate = %s RETURNING id", evil)

    seen: list[bool] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after") and not seen and yard.item("one")["phase"] == "review":
            seen.append(True)
            swap()

    yard.work(Watched(yard, {"one": [good("one")]}), boundary=reclaimed(yard, boundary))
    assert verdicts(yard, "one")[:1] == ["tests_failed"]
    assert yard.on_main("one.sh") in (None, "echo hello one")


def reclaimed(yard: Yard, boundary: Boundary) -> Boundary:
    """The worker that goes on has the item in memory: take it away, so that the next one reads the row."""

    def outer(step: str, point: str) -> None:
        before = yard.item("one")["candidate"]
        boundary(step, point)
        if yard.item("one")["candidate"] != before:
            yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")

    return outer


# ── CI ────────────────────────────────────────────────────────────────────────────────────────────────

JOBS = '[ci.jobs]\ntest = "sh tests/test_one.sh"\nlint = "! grep -q forbidden one.sh"\n'


@pytest.mark.req("W1", "W3", "W5", "W14", "D13")
def test_red_ci_is_fixed_by_the_same_worker_record(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config(JOBS))
    yard.add(shell_story("one"))
    first = good("one")
    first["write"]["one.sh"] = "# forbidden\necho hello one\n"
    records: list[dict[str, object]] = []

    def boundary(step: str, point: str) -> None:
        if step in ("implement", "propose") and point == "after_intent":
            records.extend(yard.query("SELECT milestone, step, line, worker_id FROM worker_records"))

    yard.work(Watched(yard, {"one": [first, good("one")]}), boundary=boundary)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], verdicts(yard, "one")) == ("done", 1, ["ci_failed"])
    assert milestones(yard, "one") == ["WORKING", "PUSHED_TO_CI", "FIXING_CI", "PUSHED_TO_CI", "DONE"]
    assert [row["milestone"] for row in records] == ["WORKING", "PUSHED_TO_CI", "FIXING_CI", "PUSHED_TO_CI"]
    assert len({row["worker_id"] for row in records}) == 1
    red, green = (row["body"] for row in yard.events("one", "ci.finished"))
    assert red["jobs"] == {"test": "success", "lint": "failure"} and green["jobs"] == {
        "test": "success",
        "lint": "success",
    }
    assert green["commit"] == item["merged_commit"] != red["commit"]
    [line] = [
        row["body"]["line"] for row in yard.events("one", "milestone.changed") if row["body"]["milestone"] == "DONE"
    ]
    assert "all green (test success, lint success), mirror: not configured" in line


@pytest.mark.req("W15")
def test_checkpoints_say_what_another_worker_needs(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    rows = yard.query("SELECT * FROM checkpoints ORDER BY id")
    wanted = {"worker_id", "repo", "component_id", "milestone", "commits", "ci_runs", "files", "summary", "blockers",
              "decisions", "trigger", "run_no"}  # fmt: skip
    assert wanted <= set(rows[0])
    assert [row["trigger"] for row in rows] == [
        "milestone.changed", "build.pushed", "milestone.changed", "ci.finished", "milestone.changed",
    ]  # fmt: skip
    assert [row["milestone"] for row in rows if row["trigger"] == "milestone.changed"] == [
        "WORKING",
        "PUSHED_TO_CI",
        "DONE",
    ]
    last, candidate = rows[-1], yard.item("one")["merged_commit"]
    assert last["component_id"] == "one" and last["repo"] == str(yard.repo) and candidate in last["commits"]
    assert sorted(last["files"]) == ["one.sh", "tests/test_one.sh"] and last["summary"].startswith("DONE: ")
    assert rows[1]["ci_runs"] == [] and len(rows[-1]["ci_runs"]) == 1
    [claimed] = yard.events("one", "item.claimed")
    assert {row["worker_id"] for row in rows} == {claimed["body"]["worker"]}


@pytest.mark.req("W14")
def test_the_registry_says_who_works_where_and_how_far(yard: Yard) -> None:
    yard.add(shell_story("one"))
    seen: list[dict[str, object]] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("propose", "after_done"):
            seen.extend(
                yard.query("SELECT r.*, w.host, w.pid FROM worker_records r JOIN workers w ON w.id = r.worker_id")
            )

    yard.work(Watched(yard, {"one": [good("one")]}), boundary=boundary)
    [record] = seen
    assert record["milestone"] == "PUSHED_TO_CI" and record["step"] in ("push", "propose")
    assert str(record["line"]).startswith("PUSHED_TO_CI: repo commit ") and record["pid"]
    assert (
        yard.query("SELECT * FROM worker_records") == []
        and yard.query("SELECT 1 FROM workers WHERE ended_at IS NULL") == []
    )


@pytest.mark.req("W3", "W16")
def test_a_resumption_is_logged_as_such(yard: Yard) -> None:
    yard.add(shell_story("one"))

    class Gone(Exception):
        pass

    def die(step: str, point: str) -> None:
        if (step, point) == ("push", "after_done"):
            raise Gone

    with pytest.raises(Gone):
        run_as_if_killed(yard, die)
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    agent = Watched(yard, {"one": [bad("one")]})
    yard.work(agent)
    [resumed] = yard.events("one", "run.resumed")
    assert (resumed["body"]["phase"], resumed["body"]["milestone"]) == ("build", "PUSHED_TO_CI")
    assert milestones(yard, "one") == ["WORKING", "PUSHED_TO_CI", "DONE"] and agent.given == []


@pytest.mark.req("D9", "F13")
def test_a_branch_that_is_not_ours_is_never_overwritten(yard: Yard) -> None:
    mirror = yard.project.mirror
    mirror.fetch()
    mirror.git.out("update-ref", "refs/heads/feat/one", yard.main())
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert yard.item("one")["phase"] == "blocked" and "Damascus did not make it" in yard.questions()[0]
    assert mirror.resolve("refs/heads/feat/one") == yard.main()


def test_a_surprise_is_a_question_never_a_pass(yard: Yard) -> None:
    """A bug of ours in any step charges nothing and is told with its log."""
    yard.add(shell_story("one"))
    act = once_before("verify", lambda: 1 // 0)
    yard.work(Watched(yard, {"one": [good("one")]}), boundary=act)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 0, None)
    [question] = yard.questions()
    assert "Damascus failed in step verify of one: ZeroDivisionError" in question
    assert "by zero" in Path(item["last_feedback"]["log"]).read_text()
