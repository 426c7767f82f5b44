"""An import's plan as people and scripts see it: what was understood, what lacks, what becomes of it."""

from collections import Counter
from collections.abc import Iterator

from damascus.domain.verdict import Phase
from damascus.people.importing import QUEUED, ImportPlan, PlannedStory
from damascus.tasks.importers.planning import Fate
from damascus.tasks.importers.story_specs import source_of
from damascus.telling.phrases import listed, plural

HEAD = ("story", "title", "becomes", "understood", "lacks")


def rows(plan: ImportPlan) -> list[tuple[str, ...]]:
    """One for each story that is queued or not as it was."""
    shown = [one for one in plan.stories if one.fate in (*QUEUED, Fate.LEFT)]
    return [_row(one) for one in shown]


def _row(one: PlannedStory) -> tuple[str, ...]:
    understood, lacks = ", ".join(one.draft.understood) or "its title", ", ".join(one.draft.lacks) or "–"
    return (one.draft.story, one.draft.one.title, _becomes(one), understood, lacks)


def _becomes(one: PlannedStory) -> str:
    if one.fate is Fate.LEFT:
        return "left as it is"
    return f"{one.fate}, phase {Phase.SPEC if one.rough else Phase.BUILD}"


def notes(plan: ImportPlan) -> Iterator[str]:
    """What is not queued, and why."""
    done = [one.draft.one.key for one in plan.stories if one.fate is Fate.DONE]
    if done:
        yield f"{plural(len(done), 'is', 'are')} done in the source already and not queued: {listed(done, 10)}"
    reasons: dict[str, list[str]] = {}
    for one in plan.stories:
        if one.fate is Fate.SKIPPED:
            reasons.setdefault(one.decided.why, []).append(one.draft.one.key)
    yield from (f"not queued, {why}: {listed(keys, 10)}" for why, keys in reasons.items())
    yield from (f"{one.draft.story}: {one.decided.why}" for one in plan.stories if _is_told(one))
    yield from (
        f"{one.story} was imported before and is not in the source any more (phase {one.phase})" for one in plan.gone
    )


def _is_told(one: PlannedStory) -> bool:
    return bool(one.decided.why) and one.fate in (Fate.UNCHANGED, Fate.LEFT)


def counted(plan: ImportPlan) -> str:
    """One line over everything."""
    found = Counter(one.fate for one in plan.stories)
    told = ", ".join(f"{found[fate]} {fate}" for fate in Fate if found[fate])
    return f"{plan.format}: {plural(len(plan.stories), 'story', 'stories')} ({told})."


def as_record(plan: ImportPlan) -> dict[str, object]:
    return {
        "format": plan.format,
        "stories": [_record(one) for one in plan.stories],
        "gone": [str(one.story) for one in plan.gone],
    }


def _record(one: PlannedStory) -> dict[str, object]:
    told = one.draft.one
    return {
        "story": one.draft.story,
        "title": told.title,
        "source": source_of(one.draft.kind, told),
        "fate": one.fate,
        "why": one.decided.why,
        "phase": (Phase.SPEC if one.rough else Phase.BUILD) if one.fate in QUEUED else None,
        "spec": one.path,
        "scope": list(one.draft.scope),
        "depends_on": list(one.draft.depends_on),
        "requirements": list(told.criteria),
        "questions": list(told.questions),
        "lacks": one.draft.lacks,
        "difference": one.difference,
    }
