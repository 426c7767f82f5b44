"""commit: all that the authors of a full build made, as the one commit that is judged. It is Damascus' own."""

from damascus.domain.events import Event, EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Rejected
from damascus.domain.verdict import Phase, Verdict
from damascus.engine import commits
from damascus.engine.flow.carried import carry
from damascus.engine.flow.work import Ended, Work
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made

COMMIT = Step(
    "commit", Phase.BUILD, StepKind.LOCAL, Made, "all that the authors made, as the one commit that is judged"
)


def commit(work: Work) -> Made:
    made = work.run.local(COMMIT, lambda: _commit(work), events=lambda: _committed(work))
    if made.commit is None:
        feedback = VerdictFeedback(message="the agents changed nothing that counts")
        raise Ended(Rejected(Verdict.NOTHING_CHANGED, feedback), "nothing was changed")
    return made


def _committed(work: Work) -> tuple[Event, ...]:
    assert work.made is not None
    if work.made.commit is None:
        return ()
    return ((EventKind.BUILD_COMMITTED, {"commit": work.made.commit, "files": work.made.files_changed}),)


def _commit(work: Work) -> Made:
    """Made of the last author's tree: what it says stays with it."""
    mirror, last = work.run.tools.mirror, work.made
    assert last is not None  # the code-implementer is never left out
    base, tree = Sha(last.base), Sha(str(last.tree))
    changed = mirror.changed(base, tree)
    told: dict[str, object] = {"files_changed": [file.path for file in changed], "commit": None}
    if changed:
        settings = work.config.commit
        text = commits.message(
            work.run.item, work.spec.kind, changed, COMMIT.name, wanted=settings, summary=last.summary
        )
        told["commit"] = mirror.commit_tree(tree, [base], text, settings.author)
        carry(work.run, str(told["commit"]), base)
    work.made = last.model_copy(update=told)
    return work.made
