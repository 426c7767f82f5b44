"""The prompt that a story's next agent step would get, from durable facts: no lease, no worker, nothing written."""

from damascus.domain.errors import DamascusError
from damascus.domain.item import Item
from damascus.domain.ports import Brief
from damascus.domain.roles import IMPLEMENTER, REFINER
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase
from damascus.engine import briefs
from damascus.engine.run import Run
from damascus.engine.tools import Tools

AGENT_PHASES = {Phase.SPEC: REFINER, Phase.BUILD: IMPLEMENTER}


def upcoming(tools: Tools, item: Item, role: str | None = None) -> Brief:
    """`role` None: whoever is next. A story that waits for a person is looked at as if it had been answered."""
    run = Run(item, tools)
    spec = parse_spec(item.spec, item.spec_path, rough=True)
    base, start, was = starting_point(run)
    return briefs.brief(run, spec, role or _next_role(item), base, start=start, was=was)


def _next_role(item: Item) -> str:
    phase = item.resume_phase or item.phase if item.phase == Phase.BLOCKED else item.phase
    role = AGENT_PHASES.get(phase)
    if role is None:
        raise DamascusError(
            f"{item.story_id} is in phase {item.phase}: no agent is next. "
            f"See what a role would be given: damascus prompt {item.story_id} --role {IMPLEMENTER}"
        )
    return role


def starting_point(run: Run) -> tuple[str, str | None, str | None]:
    """Base, tree of the work so far, and what that was made on: as `prepare` recorded it, or would by the journal."""
    ended = run.item.phase == Phase.BLOCKED  # an answer begins the next run
    prepared = run.intent("prepare")
    if prepared is not None and prepared.status == "done" and not ended:
        return prepared.output["base"], prepared.output.get("start"), prepared.output.get("was")
    rows = run.tools.db.all("previous_attempt", item=run.item.id, run=run.item.run_no + ended)
    last, feedback = {row["step"]: row["output"] for row in rows}, run.item.last_feedback
    tip = run.tools.forge.main_tip()
    if "prepare" not in last or feedback is None:
        return tip, None, None
    merged = last.get("rebase", {}).get("conflict_tree")
    if feedback.conflict is not None and merged:
        return feedback.conflict.their_sha, merged, None
    was, tree = last["prepare"]["base"], last.get("implement", {}).get("tree")
    return (tip, tree, was) if run.item.attempts == 0 else (was, tree, None)
