"""The prompt that a story's next agent step would get, from durable facts: no lease, no worker, nothing written."""

from damascus.domain.errors import DamascusError
from damascus.domain.item import Item
from damascus.domain.ports import Brief
from damascus.domain.roles import Role
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.verdict import Kind, Phase
from damascus.engine.agent_step import briefs, patterns
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.judging import in_full
from damascus.engine.lifecycle import FULL, STEPS
from damascus.engine.run import Run
from damascus.engine.step import StepKind
from damascus.engine.steps.prepare import PREPARE, starting_point
from damascus.engine.tools import Tools


def upcoming(tools: Tools, item: Item, role: str | None = None) -> Brief:
    """`role` None: whoever is next. A story that waits for a person is looked at as if it had been answered."""
    run = Run(item, tools)
    spec = parse_spec(item.spec, item.spec_path, rough=True)
    point, sent = _starting_point(run), role or _next_role(run)
    return briefs.brief(run, spec, sent, start=point, handed=_patterns(run, spec, sent, point))


def _patterns(run: Run, spec: Spec, role: str, point: StartingPoint) -> briefs.Handed | None:
    if role not in patterns.WRITERS or not (spec.domain or spec.task_type or spec.graph):
        return None
    looked = patterns.look_up(run, spec, point.base)
    return looked.added_to(None) if isinstance(looked, patterns.LookedUp) else None


def _next_role(run: Run) -> str:
    """Of the phase's agents the first that is not done; when all are, the next attempt begins with the first."""
    item = run.item
    phase = item.resume_phase or item.phase if item.phase == Phase.BLOCKED else item.phase
    if phase == Phase.BUILD and parse_spec(item.spec, item.spec_path, rough=True).kind is Kind.PLAN:
        return Role.PLANNER
    taken = FULL if phase == Phase.BUILD and _in_full(run) else STEPS
    agents = [step for step in taken if step.kind is StepKind.AGENT and step.phase == phase]
    if not agents:
        raise DamascusError(
            f"{item.story_id} is in phase {item.phase}: no agent is next. "
            f"See what a role would be given: damascus prompt {item.story_id} --role {Role.CODE_IMPLEMENTER}"
        )
    left = [step for step in agents if not run.results(step)]
    return (left or agents)[0].role


def _in_full(run: Run) -> bool:
    spec = parse_spec(run.item.spec, run.item.spec_path, rough=True)
    return in_full(spec, run.tools.read_config(run.tools.forge.main_tip()))


def _starting_point(run: Run) -> StartingPoint:
    """As `prepare` recorded it, or would by the journal."""
    ended = run.item.phase == Phase.BLOCKED  # an answer begins the next run
    prepared = None if ended else run.result(PREPARE)
    return prepared or starting_point(run, run.tools.forge.main_tip(), run.item.run_no + ended)
