"""The journal boundaries of a step, by its kind in the step table."""

from typing import Any

from damascus.engine.lifecycle import STEPS
from damascus.engine.step import Step

LOCAL = ("before", "after")
OUTSIDE = ("before_intent", "after_intent", "after_effect", "after_done")


def points(step: Step[Any]) -> tuple[str, ...]:
    return LOCAL if step.kind == "local" else OUTSIDE


def named(name: str) -> Step[Any]:
    return next(step for step in STEPS if step.name == name)
