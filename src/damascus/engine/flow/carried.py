"""What the authors of a full build made goes where the story goes: another host goes on with it and sends nobody twice.

Only what passed the gates is ever pushed, so commits of a build in progress are kept with the story's artifacts.
"""

from damascus.domain.ids import Sha
from damascus.engine.agent_step.workspace import tree_here
from damascus.engine.run import Run
from damascus.git import carried
from damascus.store import artifacts

WORK = "build/work.json"


def carry(run: Run, commit: str | None, base: str) -> None:
    """Within the step that made it. What is too large stays here: another host begins anew."""
    text = carried.as_text(run.tools.mirror.objects, Sha(base), Sha(commit)) if commit else None
    if text is not None:
        run.leave(WORK, text)


def have_tree(run: Run, tree: str) -> bool:
    """Here, or among what was carried."""
    if tree_here(run, tree):
        return True
    kept = artifacts.versions(run.tools.db, run.item.id, WORK)
    carried.brought(run.tools.mirror.objects, (each.content.decode() for each in kept))
    return tree_here(run, tree)
