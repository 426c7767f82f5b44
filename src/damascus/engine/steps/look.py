"""Look: the pull request as the forge has it."""

from pydantic import BaseModel, Field

from damascus.domain.ids import short
from damascus.domain.ports import Pull
from damascus.domain.verdict import Phase
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind


class PullOnForge(BaseModel):
    """What is seen on the forge."""

    problem: str = ""
    head: str | None = None
    files: list[str] = Field(default_factory=list)


LOOK = Step("look", Phase.REVIEW, StepKind.LOCAL, PullOnForge, "the pull request as the forge has it")


def look(run: Run) -> PullOnForge:
    return run.local(LOOK, lambda: _look(run))


def _look(run: Run) -> PullOnForge:
    """The pull request must exist, be open, and have exactly the candidate as its head."""
    item, forge = run.item, run.tools.forge
    if item.pr_url is None:
        return PullOnForge(problem="the row has no pull request", files=_touched(run))
    pull = forge.find_pull(item.branch)
    if pull is None or pull.state == "closed":
        return PullOnForge(problem=f"the forge has no open pull request for {item.branch}", files=_touched(run))
    if pull.state == "merged" and pull.merged_commit:
        return PullOnForge(head=pull.merged_commit, files=_files(run, pull))
    if pull.head_sha != item.candidate:
        wrong = f"the pull request's head is {short(pull.head_sha)}, the judged commit {short(item.candidate)}"
        return PullOnForge(problem=wrong, files=_touched(run))
    return PullOnForge(head=pull.head_sha, files=_files(run, pull))


def _files(run: Run, pull: Pull) -> list[str]:
    """Of the forge's diff what is this story's: those ahead in the queue show in it until they are on main."""
    theirs, mine = run.tools.forge.diff(pull), set(_touched(run))
    return [file.path for file in theirs if file.path in mine or not mine]


def _touched(run: Run) -> list[str]:
    """What the attempt changed, where the pull can't tell: the feedback names it all the same (D16)."""
    base, candidate = run.item.base_commit, run.item.candidate
    return [file.path for file in run.tools.mirror.changed(base, candidate)] if base and candidate else []
