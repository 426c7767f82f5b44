"""Answers about a main that is red: revert upstream, fix downstream, coordinate, each a thing that happens (W20)."""

from damascus.app import Project
from damascus.domain import breakage
from damascus.domain.breakage import Breakage
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.recovery import Chosen, OptionId
from damascus.domain.spec import parse_spec
from damascus.people.acts import Done
from damascus.store import graph, people, projects, queueing
from damascus.store.db import Database, Row


def decide(db: Database, project: Project, issue: Row, choice: Chosen) -> Done:
    """By the option's id; own words are only recorded."""
    repo = int(issue["about"]["repo"])
    broken = Breakage(**issue["about"]["broken"]) if "broken" in issue["about"] else None
    if choice.id == OptionId.CI_AGAIN:
        graph.judge_again(db, repo)
        said = "CI of that main is run again by the next worker."
    elif broken is not None and choice.id == OptionId.REVERT:
        said = _revert(db, project, broken)
    elif broken is not None and choice.id == OptionId.FIX:
        said = _queued(db, project, broken.down, breakage.fix_spec(broken), rough=True)
    elif broken is not None and choice.id == OptionId.COORDINATE:
        said = _hold(db, project, broken)
    else:
        said = "It closes nothing but the question: what depends on that main waits until it is green."
    people.close(db, project.row.id, issue, choice.told)
    return Done(f"Question {issue['id']} is answered: {choice.told}.\n{said}", "damascus graph")


def _revert(db: Database, project: Project, broken: Breakage) -> str:
    assert broken.up is not None
    try:
        return _queued(db, project, broken.up, breakage.revert_spec(broken), rough=not broken.command)
    except UsageError as err:
        raise DamascusError(
            f"the revert can't be a story: {err} Revert it by hand in {broken.upstream}: git revert {broken.commit}"
        ) from None


def _queued(db: Database, project: Project, repo: int, text: str, *, rough: bool) -> str:
    """A story of that repository, as `damascus add` queues one; its spec is nobody's file."""
    raw = text.encode()
    spec = parse_spec(raw, "the spec", rough=rough)
    row = next(row for row in projects.repositories(db, project.row.uuid) if row.repo_id == repo)
    story = queueing.NewStory(spec, raw, f"specs/{spec.story}.md", None, rough)
    config = project.config
    [queued] = queueing.add(db, row, [story], config.project.branch_prefix, config.limits.budget_cycles)
    return f"{queued.story_id} is queued for {row.repo}, phase {queued.phase}: damascus show {queued.story_id}"


def _hold(db: Database, project: Project, broken: Breakage) -> str:
    held = [repo for repo in (broken.up, broken.down) if repo is not None]
    reason = f"{broken.down_name} and {broken.upstream or 'what it needs'} are being brought together by hand"
    for repo in held:
        people.hold(db, project.row.id, repo, reason)
    names = [row.repo for row in projects.repositories(db, project.row.uuid) if row.repo_id in held]
    commands = " && ".join(f"damascus release {name}" for name in names)
    return f"{' and '.join(names)}: nothing starts there or in what depends on them until you say: {commands}"
