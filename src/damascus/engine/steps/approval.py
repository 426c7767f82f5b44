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
from damascus.domain.recovery import ACCEPT, APPROVE, CANCEL, SEND_BACK
from damascus.domain.spec import digest, parse_spec
from damascus.domain.storable import clean
from damascus.domain.verdict import Kind, Phase
from damascus.engine.plan_told import plan_told
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
    if not wanted(run, base) or approval_of(run, base, commit) is not None:
        return None
    asked = AskedApproval(change=change_mark(run, base, commit), commit=commit)
    run.local(APPROVAL, lambda: asked, key=asked.change)
    return _question(run, asked, base)


def missing_acceptance(run: Run, base: Sha, commit: Sha, who: str, held: list[str]) -> NeedsPerson | None:
    """What somebody holds against a change, and no author can cure, a person weighs. Their word is for just these
    concerns: who accepted the change before, without having seen them, is asked."""
    change = change_mark(run, base, commit)
    mark = digest("\n".join([change, *held]).encode())
    if _word_for(run, mark) is not None:
        return None
    asked = AskedApproval(change=mark, commit=commit, unproved=[f"{who}: {each}" for each in held], of=change)
    run.local(APPROVAL, lambda: asked, key=asked.change)
    item = run.item
    text = (
        f"Does this implementation work? The {who} has something against {item.story_id} as {short(commit)} and sees "
        f"no way for its author to cure it: {'; '.join(held)}. "
        f"Look at it: damascus diff {item.story_id}, or {item.pr_url}."
    )
    feedback = VerdictFeedback(message=clean(text, 4000), gate=who)
    return NeedsPerson(None, clean(text, 4000), (ACCEPT, SEND_BACK, CANCEL), feedback, EventKind.BLOCKED_APPROVAL)


def wanted(run: Run, base: Sha) -> bool:
    """By the rules of the base, as ever: no story and no environment can loosen them. A plan is always approved by a
    person: nothing of it is built before."""
    return run.tools.read_config(base).review.approval == PERSON or _is_plan(run)


def _is_plan(run: Run) -> bool:
    return parse_spec(run.item.spec, run.item.spec_path).kind is Kind.PLAN


def approval_of(run: Run, base: Sha, commit: Sha) -> Approval | None:
    """The word that holds for this change, whichever commit it was shown in; or one for this change or this very
    commit, and more."""
    return _word_for(run, change_mark(run, base, commit), commit)


def _word_for(run: Run, mark: str, commit: str = "") -> Approval | None:
    row = run.tools.db.one("approval_of", item=run.item.id, change=mark, commit=commit)
    return Approval.model_validate({**row["output"], "at": row["done_at"].isoformat()}) if row else None


def change_mark(run: Run, base: Sha, commit: Sha) -> str:
    return change_of(run.tools.mirror.patch(base, commit, "--no-renames"), run.item.spec_hash)


def _question(run: Run, asked: AskedApproval, base: Sha) -> NeedsPerson:
    item, files = run.item, [file.path for file in run.tools.mirror.changed(base, Sha(asked.commit))]
    named = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    again = "main moved and the change reads differently now. " if _asked_before(run, asked) else ""
    planned = f"{plan_told(run, base, Sha(asked.commit))} " if _is_plan(run) else ""
    text = (
        f"Approve {shown(asked.change)}: {item.story_id} is judged and ready to land as {short(asked.commit)}. {again}"
        f"It changes {named}. {planned}Look at it: damascus diff {item.story_id}, or {item.pr_url}. Shall it land?"
    )
    feedback = VerdictFeedback(message=text, gate="approval", files_changed=files)
    return NeedsPerson(None, text, OPTIONS, feedback, event=EventKind.BLOCKED_APPROVAL)


def _asked_before(run: Run, asked: AskedApproval) -> bool:
    row = run.tools.db.one("approved_otherwise", item=run.item.id, change=asked.change)
    return row is not None
