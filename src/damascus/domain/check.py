"""One line of a doctor: what was looked at, how it is, and what to do."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """`says` is what was found and, unless it is fine, what to do."""

    name: str
    state: State
    says: str
