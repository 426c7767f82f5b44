"""What it means that an agent was ended: which word is an attempt, and which is a question for a person (W8, X5)."""

from pydantic import BaseModel

from damascus.domain import recovery
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import NeedsPerson
from damascus.domain.oversight import REASONS
from damascus.domain.ports import Denial
from damascus.domain.storable import clean
from damascus.engine.run import Run
from damascus.engine.sending import Sent
from damascus.engine.spending import Purse, ask_for_more
from damascus.system.seats import CHECKOUT

MOST_WORDS = 600


class Ending(BaseModel):
    """How an agent step ended, beside its exit code. `whose` budget it was, if one ended it."""

    ended: str = ""
    denial: Denial | None = None
    whose: str = "step"
    no_price_for: str = ""
    refused_with: int = 0


def of(sent: Sent, purse: Purse) -> Ending:
    match sent.ended:
        case "denied":
            return Ending(ended="denied", denial=sent.denial)
        case "tokens":
            return Ending(ended="tokens", whose=purse.tokens.whose)
        case "money":
            unknown = "" if purse.price else purse.dispatch.model
            return Ending(ended="money", whose=purse.dollars.whose, no_price_for=unknown)
        case "api_errors":
            return Ending(ended="api_errors", refused_with=sent.api_status)
    return Ending(ended=sent.ended)


def reason(ending: Ending) -> str:
    return REASONS.get(ending.ended, "its time was up")


def question(run: Run, ending: Ending, feedback: VerdictFeedback) -> NeedsPerson | None:
    """What only a person can decide; None: the ended agent is an attempt like another."""
    match ending.ended:
        case "denied":
            return _denied(run, ending.denial or Denial(tool="a tool", error="denied"), feedback)
        case "tokens" if ending.whose != "step":
            return ask_for_more(run, ending.whose, "tokens")
        case "money" if ending.no_price_for or ending.whose != "step":
            return ask_for_more(run, ending.whose, "dollars", price_of=ending.no_price_for)
        case "api_errors":
            told = (
                f"the model gateway answers {run.item.story_id} with status {ending.refused_with} each time. "
                "Correct the key, the model's name or the gateway, then retry."
            )
            return _asked(run, told, (recovery.RETRY, recovery.CANCEL), feedback, "")
    return None


def _denied(run: Run, denial: Denial, feedback: VerdictFeedback) -> NeedsPerson:
    """W8 to the letter: the fixed line, what it tried (a file of the workspace by its own name), no retry by itself,
    three recoveries."""
    told = f"BLOCKED_PERMISSION: {denial.tool} - {_short(denial.error)}"
    if denial.tried:
        told += f". It tried: {_short(denial.tried).replace(f'{CHECKOUT}/', '')}"
    return _asked(run, told, recovery.DENIED, feedback, "blocked.permission")


def _short(text: str) -> str:
    return " ".join(clean(text, MOST_WORDS).split()).rstrip(".")


def _asked(
    run: Run, told: str, options: tuple[str, ...], feedback: VerdictFeedback, event: str
) -> NeedsPerson:  # fmt: skip
    """What an earlier attempt said stays: whoever goes on still needs it."""
    kept = run.item.last_feedback or VerdictFeedback()
    news = {"message": told, "files_changed": feedback.files_changed, "log": feedback.log, "claims": feedback.claims}
    return NeedsPerson(None, told, options, kept.model_copy(update=news), event)
