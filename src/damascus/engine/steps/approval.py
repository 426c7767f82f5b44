"""Nothing lands without a person's word where [review] approval asks for one.

Asked at the end of review, when everything else is judged, and looked at again before main moves: there the candidate
may have been built anew on another main. The word holds for the change, so it is asked for again only if that differs.
What is asked is in the journal of the run, from which the answer takes it: no wording of a question counts.
"""

from damascus.domain.approval import Approval, AskedApproval, change_of, shown
from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson
from damascus.domain.recovery import APPROVE, CANCEL, SEND_BACK
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind

OPTIONS = (APPROVE, SEND_BACK, CANCEL)
PERSON = "person"
APPROVAL = Step(
    "approval", Phase.REVIEW, StepKind.LOCAL, AskedApproval,
    "what a person is asked to approve; again in merge if it reads differently",
    also=(Phase.BUILD, Phase.MERGE),
)  # fmt: skip


def missing_approval(run: Run, base: Sha, commit: Sha) -> NeedsPerson | None:
    """The question, or None: nobody has to be asked (any more)."""
    return ask_to_approve(run, base, commit) if wanted(run, base) else None


def ask_to_approve(run: Run, base: Sha, commit: Sha, why: str = "") -> NeedsPerson | None:
    """None: a person has approved this change. `why` is what only a person can weigh."""
    if approval_of(run, base, commit) is not None:
        return None
    asked = AskedApproval(change=change_mark(run, base, commit), commit=commit)
    run.local(APPROVAL, lambda: asked, key=asked.change)
    return _question(run, asked, base, why)


def wanted(run: Run, base: Sha) -> bool:
    """By the rules of the base, as ever: no story and no environment can loosen them."""
    return run.tools.read_config(base).review.approval == PERSON


def approval_of(run: Run, base: Sha, commit: Sha) -> Approval | None:
    """The word that holds for this change, whichever commit it was shown in."""
    row = run.tools.db.one("approval_of", item=run.item.id, change=change_mark(run, base, commit))
    return Approval.model_validate({**row["output"], "at": row["done_at"].isoformat()}) if row else None


def change_mark(run: Run, base: Sha, commit: Sha) -> str:
    return change_of(run.tools.mirror.patch(base, commit, "--no-renames"), run.item.spec_hash)


def _question(run: Run, asked: AskedApproval, base: Sha, why: str) -> NeedsPerson:
    item, files = run.item, [file.path for file in run.tools.mirror.changed(base, Sha(asked.commit))]
    named = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    again = "main moved and the change reads differently now. " if _asked_before(run, asked) else ""
    text = (
        f"Approve {shown(asked.change)}: {item.story_id} is judged and ready to land as {short(asked.commit)}. {again}"
        f"It changes {named}. Look at it: damascus diff {item.story_id}, or {item.pr_url}. Shall it land?"
    )
    text += clean(f"\nDoes this implementation work? {why}", 4000) if why else ""
    feedback = VerdictFeedback(message=text, gate="approval", files_changed=files)
    return NeedsPerson(None, text, OPTIONS, feedback, event=EventKind.BLOCKED_APPROVAL)


def _asked_before(run: Run, asked: AskedApproval) -> bool:
    row = run.tools.db.one("approved_otherwise", item=run.item.id, change=asked.change)
    return row is not None
