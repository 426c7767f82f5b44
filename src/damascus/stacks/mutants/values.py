"""What mutants answer: drawn for each candidate, so that no test can list them, and one for all of its trials."""

import hashlib
import random
import secrets
from dataclasses import dataclass

from damascus.stacks.made_up import MadeUp

SECRET = secrets.token_bytes(16)
"""Of this process: nobody can tell the draw beforehand, and the same tree has the same one again."""


@dataclass(frozen=True)
class MutantAnswer:
    """An expression to give back. A `half` says something only together with the other halves of its function: a
    number below nothing is noticed by whoever asks for digits, nothing by whoever lists it; `> 0` notices both."""

    text: str
    half: bool = False


@dataclass(frozen=True)
class Values:
    number: int
    below: int
    """As far below nothing."""
    small: int
    """For types that hold no more than a byte."""
    real: float
    word: str
    letters: str
    """Two."""

    @classmethod
    def drawn(cls, tree: str = "") -> "Values":
        draw = random.Random(hashlib.blake2b(tree.encode(), key=SECRET).digest()) if tree else random.SystemRandom()
        first, second = draw.sample("bcdfghjkmnpqrstvwxz", 2)
        return cls(
            number=draw.randint(129, 998),
            below=draw.randint(129, 998),
            small=draw.randint(101, 126),
            real=draw.randint(129, 998) + draw.choice((0.125, 0.375, 0.625, 0.875)),
            word=MadeUp(draw=draw).new_word(),
            letters=first + second,
        )


def same(holds: bool) -> str:
    """A condition that no compiler works out; other numbers each time, so that whoever wants to know a control from a
    mutant has to run it."""
    number = 1000 + secrets.randbelow(9000)
    other = number if holds else number + 1 + secrets.randbelow(900)
    return f"[{number}] == [{other}]"
