"""What the gates' answer means for the run: it goes on, goes back to the agent, or a person is asked.

A person's answer is kept with the question, and the question names what was shown by its mark. So the same change is
never asked about twice, whichever run, attempt or base it comes up in, and another change always is.
"""

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import NeedsPerson, Rejected
from damascus.domain.ports import Finding
from damascus.domain.recovery import ACCEPT_TESTS, CANCEL, EDIT_SPEC, KEEP_TESTS
from damascus.domain.storable import clean
from damascus.engine.judging import Judged, feedback, rejected
from damascus.engine.run import Run

OPTIONS = (ACCEPT_TESTS, KEEP_TESTS, EDIT_SPEC, CANCEL)


def decided(run: Run, judged: Judged, files: list[str]) -> Rejected | NeedsPerson | None:
    """None: nothing is in the way."""
    if judged.findings:
        return rejected(run, judged, files)
    for ask in judged.asks:
        answer = answer_to(run, ask)
        if answer is None:
            return _question(run, judged, ask, files)
        if answer != ACCEPT_TESTS:
            return Rejected(ask.verdict, _feedback(run, judged, ask, files, answer))
    return None


def answer_to(run: Run, ask: Finding) -> str | None:
    answers = [ACCEPT_TESTS, KEEP_TESTS]
    row = run.tools.db.one("answer_to", item=run.item.id, start=_start(ask), answers=answers)
    return str(row["answer"]) if row else None


def _start(ask: Finding) -> str:
    return f"Changed tests {ask.mark}: "


def _question(run: Run, judged: Judged, ask: Finding, files: list[str]) -> NeedsPerson:
    """What the story's own files say stands at the end: a mark in it means nothing."""
    text = (
        f"{_start(ask)}{run.item.story_id} is green but for this. {ask.message} The story worded them, or what they "
        f"rest on, anew. Which wording holds? All of it: {run.folder / 'old-tests.diff'}\n{ask.output}"
    )
    return NeedsPerson(ask.verdict, clean(text, 8000), OPTIONS, _feedback(run, judged, ask, files, ""))


def _feedback(run: Run, judged: Judged, ask: Finding, files: list[str], answer: str) -> VerdictFeedback:
    said = f" A person answered: {answer}." if answer else ""
    return feedback(run, judged, [ask.model_copy(update={"message": ask.message + said})], files)
