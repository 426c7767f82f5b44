"""Receipt: what the gates showed of a commit, and what was said of it, as one record that nobody can talk up (F8).

Computed by pure code (domain/receipt_making.py) from what is in the journal and in git: no clock, no agent. It is kept
in the journal, left in the story's run folder, and becomes a note on the commit once that has landed.
"""

from dataclasses import replace
from typing import Any

from damascus.domain.approval import Approval, AskedApproval
from damascus.domain.errors import DamascusError
from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Rejected
from damascus.domain.ports import Candidate
from damascus.domain.receipt import SUMMARY, BuildReceipt, PersonsWord
from damascus.domain.receipt_note import RECEIPT_PAYLOAD, note_of
from damascus.domain.recovery import ACCEPT, CANCEL, SEND_BACK
from damascus.domain.spec import Spec, digest
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.flow.authors import AUTHORS
from damascus.engine.flow.hardening import MUTATE
from damascus.engine.flow.opening import BRANCH
from damascus.engine.flow.said import CRITICS, left_open, left_out, reviews, said, told_by_tools
from damascus.engine.judging import Judged, candidate_of
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.approval import APPROVAL, approval_of, change_mark
from damascus.engine.steps.implement import Made
from damascus.engine.steps.red import RED, proof_of_red
from damascus.engine.steps.reviewers import REVIEWS
from damascus.engine.steps.verify import VERIFY
from damascus.engine.tools import nothing
from damascus.evidence.receipt_evidence import Spoken, Subject, policy_at, receipt_from
from damascus.store import artifacts
from damascus.store.equivalents import Reason, equivalents
from damascus.store.receipts import RECEIPT_FILE
from damascus.system.signing import signed

OPTIONS = (ACCEPT, SEND_BACK, CANCEL)
SHOWN = 3
SUMMARY_FILE = f"build/{SUMMARY}"
RECEIPT = Step(
    "receipt", Phase.BUILD, StepKind.LOCAL, BuildReceipt,
    "how far each requirement, the tests and the code are proved, computed from the evidence",
    also=(Phase.REVIEW, Phase.MERGE),
)  # fmt: skip


def write_receipt(run: Run, spec: Spec, made: Made, judged: Judged, onto: Sha) -> BuildReceipt:
    """Of the commit that was judged and that no gate objects to."""
    return run.local(RECEIPT, lambda: _write(run, spec, Sha(made.base), judged, onto), key=judged.commit)


def write_reviewed(run: Run, spec: Spec, head: Sha) -> BuildReceipt | None:
    """From the same evidence, with what those say who read the pull request: it can only be lower. None: there is no
    receipt of this commit."""
    known, judged, heard = receipt_of(run, head), run.latest(VERIFY), reviews(run)
    if known is None or judged is None or judged.commit != known.proof.commit or not heard:
        return known
    red_base, onto = Sha(known.proof.red_base), Sha(known.proof.base)
    mark = digest("\n".join(one.model_dump_json() for one in heard).encode())[:12]
    return run.local(RECEIPT, lambda: _write(run, spec, red_base, judged, onto), key=f"{judged.commit} {mark}")


def receipt_of(run: Run, commit: Sha) -> BuildReceipt | None:
    """Of this commit, or of another one with the same tree, in whichever run it was written: the newest."""
    here = [one for one in run.results(RECEIPT) if one.proof.commit == commit]
    found = here[-1] if here else run.latest(RECEIPT)
    return found if found and found.proof.tree == run.tools.mirror.tree(commit) else None


def _write(run: Run, spec: Spec, red_base: Sha, judged: Judged, onto: Sha) -> BuildReceipt:
    red = proof_of_red(run)
    candidate = candidate_of(run, spec, Sha(judged.commit), onto, red)
    results = [*(red.results if red else []), *judged.results]
    subject = _subject(run, red_base, judged, candidate)
    receipt = receipt_from(subject, candidate, results, _spoken(run, red_base, judged))
    run.leave(SUMMARY_FILE, receipt.proof.summary + "\n")
    run.leave(RECEIPT_FILE, receipt.as_bytes().decode())
    return receipt


def _subject(run: Run, red_base: Sha, judged: Judged, candidate: Candidate) -> Subject:
    item, mirror = run.item, run.tools.mirror
    return Subject(
        story=item.story_id,
        title=item.title,
        branch=item.branch,
        spec_path=item.spec_path,
        spec=item.spec,
        policy=policy_at(mirror, candidate.base),
        timestamp=mirror.made_at(candidate.commit),
        change=judged.change,
        red_base=red_base,
        confinement=judged.confinement,
        profile="full" if candidate.full else "direct",
    )


def _spoken(run: Run, red_base: Sha, judged: Judged) -> Spoken:
    known = equivalents(run.tools.db, run.item.id) if judged.survivors else {}
    if run.item.phase == Phase.BUILD and not run.results(BRANCH):  # this very run: no critic was asked, so nobody is
        asked = run.tools.read_config(red_base).review.critic
        left = [step.name for step in (*CRITICS, *(() if asked else REVIEWS))]
        return Spoken(left_out=left, **_words(judged, known))
    runs, mutations = told_by_tools(run)
    return Spoken(
        runs=runs,
        mutations=mutations,
        said=said(run),
        left_out=left_out(run),
        left_open=left_open(run),
        artifacts=artifacts.names(run.tools.db, run.item.id),
        **_words(judged, known),
    )


def _words(judged: Judged, known: dict[str, Reason]) -> dict[str, Any]:
    """What people said."""
    return {
        "equivalent": {mark: word.words for mark, word in known.items()},
        "accepted": [PersonsWord(about=ask.message, mark=ask.mark) for ask in judged.asks],
    }


# ── of a run that ended before ────────────────────────────────────────────────────────────────────────


def leave_unfinished(run: Run, spec: Spec, start: StartingPoint, outcome: Rejected | NeedsPerson) -> None:
    """A full build that ended before its receipt, be it BLOCKED or refused by a gate: what is known of it is left for
    people, and for those who judge the next run (F12). It is no step of the journal: nothing lands by it."""
    seen = [*run.results(MUTATE), *run.results(RED), *run.results(VERIFY)]
    judged = seen[-1] if seen else Judged(commit=_last_work(run) or start.base)
    if any(one.proof.commit == judged.commit for one in run.results(RECEIPT)):
        return
    run.write(nothing)  # what is read now is in the journal's table
    red = run.result(RED)
    candidate = candidate_of(run, spec, Sha(judged.commit), Sha(start.base), red)
    results = [*(red.results if red and judged is not red else []), *judged.results]
    why = f"{outcome.verdict}: {outcome.feedback.message}" if outcome.verdict else outcome.feedback.message
    spoken = replace(_spoken(run, Sha(start.base), judged), unfinished=clean(why, 1000))
    receipt = receipt_from(_subject(run, Sha(start.base), judged, candidate), candidate, results, spoken)
    run.leave(RECEIPT_FILE, receipt.as_bytes().decode())


def _last_work(run: Run) -> str | None:
    commits = [made.commit for step in AUTHORS for made in run.results(step) if made.commit]
    return commits[-1] if commits else None


# ── what is not proved ────────────────────────────────────────────────────────────────────────────────


def missing_proof(run: Run, receipt: BuildReceipt, base: Sha, commit: Sha) -> NeedsPerson | None:
    """F8: what evidence does not show, no program lets land. A person's word for the change does, and stays a word."""
    if not receipt.unproved or approval_of(run, base, commit) is not None:
        return None
    asked = AskedApproval(change=change_mark(run, base, commit), commit=commit, unproved=receipt.unproved)
    run.local(APPROVAL, lambda: asked, key=asked.change)
    text = (
        f"Does this implementation work? {run.item.story_id} passed the gates as {short(commit)}, but not all of it is "
        f"proved: {'; '.join(receipt.unproved)}. Look at it: damascus receipt {run.item.story_id}, "
        f"damascus diff {run.item.story_id}, or {run.item.pr_url or 'its pull request'}.\n---\n{table(receipt)}"
    )
    files = [file.path for file in run.tools.mirror.changed(base, commit)]
    feedback = VerdictFeedback(message=text.partition("\n")[0], gate="receipt", files_changed=files)
    return NeedsPerson(None, clean(text, 8000), OPTIONS, feedback, event=EventKind.BLOCKED_APPROVAL)


def table(receipt: BuildReceipt) -> str:
    """The evidence, a line for each requirement."""
    lines = [f"tests {receipt.tests.status}, code {receipt.code.status}, mutation {receipt.mutation.status}"]
    for line in receipt.requirement_lines:
        tests = ", ".join(test.rpartition("::")[2] for test in line.tests[:SHOWN]) or "no test"
        where = ", ".join(line.code[:SHOWN]) or "code not told"
        lines.append(f"{line.id} | {line.status} | {tests} | {where} | {line.gap}")
    return "\n".join(lines)


# ── on the landed commit ──────────────────────────────────────────────────────────────────────────────


def put_note(run: Run, landed: Sha, receipt: BuildReceipt | None, word: dict[str, Any] | None) -> None:
    """A repository that takes no note keeps nobody from landing: the receipt is in the database, too."""
    if receipt is None:  # judged by a release that wrote none
        return
    try:
        told = with_word(receipt, word).as_bytes()
        run.tools.forge.annotate(landed, note_of(told, signed(run.tools.home, RECEIPT_PAYLOAD, told)))
    except (DamascusError, OSError) as err:
        run.tools.log.error("no note", story=run.item.story_id, commit=landed, why=str(err))


def with_word(receipt: BuildReceipt, word: dict[str, Any] | None) -> BuildReceipt:
    """A person's word for what is not proved is told, and changes no status."""
    given = Approval.model_validate(word) if word else None
    if given is None or not given.unproved:
        return receipt
    told = PersonsWord(about=f"accepted unproved: {'; '.join(given.unproved)}", words=given.words, by=given.by)
    persons = [*receipt.proof.persons, told]
    return receipt.model_copy(update={"proof": receipt.proof.model_copy(update={"persons": persons})})
