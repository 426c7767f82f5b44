"""Review: from the row alone, look at the pull request as the forge has it, and judge its head again (D18).

No agent is asked yet. Evidence of the same tree and command is shared, so an honest candidate costs no second run.
"""

from pydantic import BaseModel, Field

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import Advance, Outcome, Rejected
from damascus.domain.ports import Pull
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine import judging
from damascus.engine.approval import missing_approval
from damascus.engine.decided import decided
from damascus.engine.judging import Judged
from damascus.engine.phases.red import candidate_of
from damascus.engine.run import Run
from damascus.store.evidence import latest


class Reviewed(BaseModel):
    """What the reviewer saw on the forge."""

    problem: str = ""
    head: str | None = None
    files: list[str] = Field(default_factory=list)


def review(run: Run) -> Outcome:
    seen = run.local("look", Reviewed, lambda: _look(run))
    if seen.problem or seen.head is None:
        return Rejected(Verdict.NO_PR, VerdictFeedback(message=seen.problem, gate="review", files_changed=seen.files))
    judged = run.local("review", Judged, lambda: _judge(run, Sha(str(seen.head))))
    return decided(run, judged, seen.files) or _unapproved(run, seen.head) or Advance(Phase.MERGE)


def _unapproved(run: Run, head: str) -> Outcome | None:
    """Everything is judged: where the project wants it, a person has the last word."""
    assert run.item.base_commit is not None
    return missing_approval(run, run.item.base_commit, Sha(head))


def _look(run: Run) -> Reviewed:
    """The pull request must exist, be open, and have exactly the candidate as its head."""
    item, forge = run.item, run.tools.forge
    if item.pr_url is None:
        return Reviewed(problem="the row has no pull request", files=_touched(run))
    pull = forge.find_pull(item.branch)
    if pull is None or pull.state == "closed":
        return Reviewed(problem=f"the forge has no open pull request for {item.branch}", files=_touched(run))
    if pull.state == "merged" and pull.merged_commit:
        return Reviewed(head=pull.merged_commit, files=_files(run, pull))
    if pull.head_sha != item.candidate:
        wrong = f"the pull request's head is {short(pull.head_sha)}, the judged commit {short(item.candidate)}"
        return Reviewed(problem=wrong, files=_touched(run))
    return Reviewed(head=pull.head_sha, files=_files(run, pull))


def _files(run: Run, pull: Pull) -> list[str]:
    """Of the forge's diff what is this story's: those ahead in the queue show in it until they are on main."""
    theirs, mine = run.tools.forge.diff(pull), set(_touched(run))
    return [file.path for file in theirs if file.path in mine or not mine]


def _touched(run: Run) -> list[str]:
    """What the attempt changed, where the pull can't tell: the feedback names it all the same (D16)."""
    base, candidate = run.item.base_commit, run.item.candidate
    return [file.path for file in run.tools.mirror.changed(base, candidate)] if base and candidate else []


def _judge(run: Run, head: Sha) -> Judged:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    base = run.item.base_commit
    assert base is not None
    red = latest(run.tools.db, run.item.id, "red")
    shas = (head, run.tools.mirror.tree(head), base)
    candidate = candidate_of(run, spec, shas, Judged.model_validate(red) if red else None)
    gates = tuple(gate for gate in run.tools.gates_before if gate.name == "scope")
    return judging.judge(run, (*gates, *run.tools.gates_after), candidate)
