"""The one door for an agent: a further agent step is one line in a script, one prompt and one result type.

The scripts here are builds with a third agent. Everything that surrounds one holds for it by itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from damascus.domain.outcome import Outcome, Rejected
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine import lifecycle
from damascus.engine.agent_step.results import AgentResult, told_by
from damascus.engine.phases import build as page
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import IMPLEMENT, Made, implement
from damascus.engine.steps.prepare import prepare
from damascus.system.sandbox import Level, detect
from tests.engine.shell_stories import FILES, Watched, good, shell_story
from tests.engine.test_review_and_ci import run_as_if_killed
from tests.yard import Yard


class Critique(AgentResult):
    """What a critic says in its report."""

    status: Literal["VERIFIED", "UNVERIFIED", "BLOCKED"] = "BLOCKED"


class Plan(AgentResult):
    """What a loader leaves as an artifact."""

    artifact: ClassVar[str] = "plan.json"

    files: list[str] = []  # noqa: RUF012


CRITIQUE = Step("critique", Phase.BUILD, StepKind.AGENT, Critique, "judges the code", role="code-critic")
PLAN = Step("plan", Phase.BUILD, StepKind.AGENT, Plan, "lists what the work has to know", role="context-loader")
DOCUMENT = Step("document", Phase.BUILD, StepKind.AGENT, Made, "writes the documentation", role="doc-writer")


def with_critic(run: Run) -> Outcome:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    made = implement(run, spec, prepare(run))
    if isinstance(made, Outcome):
        return made
    critique = run.agent(CRITIQUE, spec, made.starting_point())  # the one line
    if isinstance(critique, Outcome):
        return critique
    if critique.status != "VERIFIED":
        feedback = told_by(critique).model_copy(update={"message": "; ".join(critique.concerns)})
        return Rejected(Verdict.TESTS_FAILED, feedback)
    return page.build(run)


def with_plan(run: Run) -> Outcome:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    plan = run.agent(PLAN, spec, prepare(run))
    return plan if isinstance(plan, Outcome) else page.build(run)


def with_documents(run: Run) -> Outcome:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    made = implement(run, spec, prepare(run))
    if isinstance(made, Outcome):
        return made
    written = run.agent(DOCUMENT, spec, made.starting_point())
    return written if isinstance(written, Outcome) else page.build(run)


Script = Callable[[Run], Outcome]


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    return yard


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], None]:
    return lambda script: monkeypatch.setitem(lifecycle.SCRIPTS, Phase.BUILD, script)


def critic(status: str = "VERIFIED", **more: Any) -> dict[str, Any]:
    return {"only_role": "code-critic", "report": {"status": status, "concerns": ["it says nothing"]}, **more}


def author(**more: str) -> dict[str, Any]:
    return {"only_role": "code-implementer", **good("one", **more)}


def journal(yard: Yard, step: Step[Any]) -> list[Any]:
    rows = yard.query("SELECT output FROM journal WHERE step = %s AND status = 'done' ORDER BY done_at", step.name)
    return [step.parse(row["output"]) for row in rows]


@pytest.mark.req("F3", "X5")
def test_a_third_agent_step_is_one_line(yard: Yard, scripted: Callable[[Script], None]) -> None:
    scripted(with_critic)
    agent = Watched(yard, {"one": [author(), critic()]})
    yard.work(agent)

    assert yard.item("one")["phase"] == "done"
    brief, prompt, files = agent.given[1]
    assert (brief.role, brief.step) == ("code-critic", "critique") and "Judge the code" in prompt
    assert files["one.sh"] == b"echo hello one\n"  # it sees what was made before it
    [said] = journal(yard, CRITIQUE)
    assert (said.status, said.concerns, said.commit, said.forbidden) == ("VERIFIED", ["it says nothing"], None, [])
    roles = [event["body"]["role"] for event in yard.events("one", "agent.started")]
    assert roles == ["code-implementer", "code-critic"] and len(yard.events("one", "agent.finished")) == 2
    spent = yard.query("SELECT step, role FROM spending ORDER BY step")
    assert [(row["step"], row["role"]) for row in spent] == [
        ("critique", "code-critic"), ("implement", "code-implementer"),
    ]  # fmt: skip


@pytest.mark.req("F3")
def test_what_a_critic_writes_is_thrown_away_and_told(yard: Yard, scripted: Callable[[Script], None]) -> None:
    scripted(with_critic)
    meddling = critic("UNVERIFIED", write={"one.sh": "echo hello critic\n"})
    agent = Watched(yard, {"one": [author(), meddling, author(), critic()]})
    yard.work(agent)

    assert yard.item("one")["phase"] == "done" and yard.on_main("one.sh") == "echo hello one"
    assert agent.given[2][2]["one.sh"] == b"echo hello one\n"  # the next attempt goes on with the author's work
    [meddled, second] = journal(yard, CRITIQUE)
    assert [finding.paths for finding in meddled.forbidden] == [["one.sh"]] and second.forbidden == []
    assert len(yard.events("one", "attempt.rejected")) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"only_role": "code-critic"}, "left no report"),
        (critic("PERHAPS"), "report can't be used: status"),
        (critic(exit=3), "exited 3"),
    ],
)
def test_an_answer_that_can_not_be_used_is_no_answer(
    yard: Yard, scripted: Callable[[Script], None], answer: dict[str, Any], why: str
) -> None:
    scripted(with_critic)
    yard.work(Watched(yard, {"one": [author(), answer, author(), critic()]}))
    [rejected] = yard.events("one", "attempt.rejected")
    assert rejected["body"]["verdict"] == "agent_failed" and why in str(rejected["body"])
    assert yard.item("one")["phase"] == "done"


def test_no_agent_writes_how_it_ended(yard: Yard, scripted: Callable[[Script], None]) -> None:
    scripted(with_critic)
    lie = critic(report={"status": "VERIFIED", "claims": {"exit_code": 7, "commit": "0" * 40, "seconds": -1}})
    yard.work(Watched(yard, {"one": [author(), lie]}))
    [said] = journal(yard, CRITIQUE)
    assert (said.status, said.exit_code, said.commit) == ("VERIFIED", 0, None) and said.seconds >= 0


def test_an_artifact_is_read_as_the_steps_own_type(yard: Yard, scripted: Callable[[Script], None]) -> None:
    scripted(with_plan)

    def before(brief: Any, workspace: Path) -> None:
        if brief.role == "context-loader":
            (Path(brief.artifacts) / "plan.json").write_text('{"files": ["README"]}')

    yard.work(Watched(yard, {"one": [{"only_role": "context-loader"}, author()]}, before))
    assert [plan.files for plan in journal(yard, PLAN)] == [["README"]]
    assert yard.item("one")["phase"] == "done"


@pytest.mark.req("F3")
def test_a_role_is_judged_by_what_it_changed_itself(
    tmp_path: Path, database_url: str, scripted: Callable[[Script], None]
) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one", scope=["README", "one.sh", "tests/test_one.sh"]))
    scripted(with_documents)
    writer = {"only_role": "doc-writer", "write": {"README": "says hello\n"}}
    meddling = {"only_role": "doc-writer", "write": {"one.sh": "echo hello writer\n"}}
    yard.work(Watched(yard, {"one": [author(), meddling, author(), writer]}))

    [rejected] = yard.events("one", "attempt.rejected")
    assert rejected["body"]["verdict"] == "scope_violation"
    [first, second] = journal(yard, DOCUMENT)
    assert [finding.paths for finding in first.forbidden] == [["one.sh"]] and second.forbidden == []
    assert sorted(second.files_changed) == ["README", "one.sh", "tests/test_one.sh"]  # the whole change as one commit


def test_an_accepted_test_is_left_as_it_is(yard: Yard, scripted: Callable[[Script], None]) -> None:
    def script(run: Run) -> Outcome:
        spec = parse_spec(run.item.spec, run.item.spec_path)
        made = run.agent(IMPLEMENT, spec, prepare(run), accepted=frozenset({"tests/test_one.sh"}))
        return made if isinstance(made, Outcome) else page.build(run)

    scripted(script)
    yard.work(Watched(yard, {"one": [author()]}))
    verdicts = {event["body"]["verdict"] for event in yard.events("one", "attempt.rejected")}
    assert verdicts == {"scope_violation"} and yard.item("one")["phase"] == "blocked"


@pytest.mark.req("D21")
def test_a_further_agent_step_that_is_done_never_runs_again(yard: Yard, scripted: Callable[[Script], None]) -> None:
    scripted(with_critic)
    script = {"one": [author(), critic()]}

    def killed(step: str, point: str) -> None:
        if (step, point) == ("critique", "after_done"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_as_if_killed(yard, killed, Watched(yard, script))
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    agent = Watched(yard, script)
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and agent.given == [] and len(journal(yard, CRITIQUE)) == 1


@pytest.mark.skipif(detect() == Level.UNCONFINED, reason="nothing can be confined here: apt-get install bubblewrap")
@pytest.mark.req("F3")
def test_a_critic_that_is_confined_can_not_write_its_workspace(yard: Yard, scripted: Callable[[Script], None]) -> None:
    scripted(with_critic)
    agent = yard.agent("""
        role, report = os.environ["DAMASCUS_ROLE"], {"status": "VERIFIED", "concerns": []}
        if role == "code-critic":
            try:
                pathlib.Path("one.sh").write_text("echo hello critic")
            except OSError as err:
                report["concerns"] = [type(err).__name__]
        else:
            pathlib.Path("tests").mkdir(exist_ok=True)
            pathlib.Path("one.sh").write_text("echo hello one\\n")
            pathlib.Path("tests/test_one.sh").write_text('# REQ-001\\ntest "$(sh one.sh)" = "hello one"\\n')
        pathlib.Path(os.environ["DAMASCUS_REPORT"]).write_text(json.dumps(report))
    """)
    yard.work(agent)
    [said] = journal(yard, CRITIQUE)
    assert said.concerns in (["OSError"], ["PermissionError"]) and said.forbidden == []
    assert yard.item("one")["phase"] == "done"
