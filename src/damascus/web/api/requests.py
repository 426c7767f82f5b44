"""What a program sends: small, typed, and nothing else in it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from damascus.domain.verdict import Phase
from damascus.people.given import SpecTexts, Words


class Body(BaseModel):
    """A field that means nothing here is refused: it was meant to do something."""

    model_config = ConfigDict(extra="forbid")


class RetryAsked(Body):
    """`hint` is told to the next agent. `phase`: refused with 409 if the story is in another one by now."""

    hint: Words = ""
    phase: Phase | None = None


class CancelAsked(Body):
    """`phase`: refused with 409 if the story is in another one by now."""

    phase: Phase | None = None


class AnswerGiven(Body):
    """An option's number or id, with words if wanted, or words alone: as `damascus answer` takes it."""

    answer: Annotated[Words, Field(min_length=1)]


class SpecsGiven(Body):
    """All of them are queued or none. `rough`: only story and title are needed."""

    specs: SpecTexts
    rough: bool = False
