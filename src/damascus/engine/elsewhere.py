"""What another host made. The journal tells of commits and trees that may be in no mirror but that host's.

Only what passed the gates is ever pushed, so a host that vanishes takes what it had not pushed with it (it stays in
its own snapshots). Its heir asks the forge for what was pushed, and where that is not enough it begins the phase
anew: a new run, nothing charged. On one host all of this is found at once.
"""

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha, short
from damascus.domain.verdict import Phase
from damascus.engine.flow.authors import AUTHORS
from damascus.engine.flow.carried import have_tree
from damascus.engine.flow.commit import COMMIT
from damascus.engine.flow.opening import BRANCH
from damascus.engine.run import Run
from damascus.engine.steps.implement import IMPLEMENT, Made
from damascus.engine.steps.prepare import PREPARE
from damascus.engine.steps.rebase import REBASE
from damascus.engine.steps.records import RECORDS


def at_hand(run: Run) -> bool:
    """Does this host have what the rest of a run that was begun needs? What was pushed is fetched."""
    if not run.resumed:
        return True
    prepared, made = run.result(PREPARE), run.result(COMMIT) or run.result(IMPLEMENT) or run.result(RECORDS)
    if run.result(BRANCH) is not None and not _authors_work_is_here(run):
        return False
    if prepared is not None and made is None:
        return prepared.start is None or have_tree(run, prepared.start)
    rebased = [rebase.commit for rebase in run.results(REBASE) if rebase.commit]
    needed: list[str] = rebased or ([made.commit] if made is not None and made.commit else [])
    needed += [run.item.candidate] if run.item.candidate and run.item.phase != Phase.BUILD else []
    return all(run.tools.forge.have(Sha(commit)) for commit in needed)


def _authors_work_is_here(run: Run) -> bool:
    """Of a full build, each author's: those who follow start from it, and whoever goes on looks at it again."""
    return all(have_tree(run, made.tree) for step in AUTHORS for made in run.results(step) if made.tree)


def made_here(run: Run, made: Made) -> Made:
    """The work as this host can rebase it: as it was made, or as it was pushed, which is the same change."""
    if made.commit is None or run.tools.forge.have(Sha(made.commit)):
        return made
    candidate = run.item.candidate
    if candidate is None or not run.tools.forge.have(candidate):
        raise TransientError(f"commit {short(candidate or made.commit)} is neither here nor on the forge")
    return made.model_copy(update={"commit": candidate, "tree": run.tools.mirror.tree(candidate)})
