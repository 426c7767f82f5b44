"""The journal boundaries of a step, by its kind in the step table."""

from damascus.engine.lifecycle import STEPS, StepInfo

LOCAL = ("before", "after")
OUTSIDE = ("before_intent", "after_intent", "after_effect", "after_done")


def points(step: StepInfo) -> tuple[str, ...]:
    return LOCAL if step.kind == "local" else OUTSIDE


def named(name: str) -> StepInfo:
    return next(step for step in STEPS if step.step == name)
