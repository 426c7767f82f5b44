"""Which changed lines a requirement's tests have to do with, and how that is known."""

from collections.abc import Iterable, Iterator
from typing import Self

from pydantic import BaseModel

from damascus.domain.described import Described

Span = tuple[int, int]


class KnownBy(Described):
    """How it is known, from the weaker to the stronger."""

    RAN = "ran", "a test of the requirement ran these lines; told from inside the judged process"
    NOTICED = "noticed", "a test of the requirement failed when what stands there was changed"


class RequirementLines(BaseModel):
    """Lines of one file. By a mutant of a body (depth `bodies`) they are those of the whole function."""

    requirement: str
    path: str
    spans: list[Span]
    """First and last line of each, in order; none touches the next."""
    by: KnownBy

    @classmethod
    def of(cls, requirement: str, path: str, lines: Iterable[int], by: KnownBy) -> Self:
        return cls(requirement=requirement, path=path, spans=list(spans(lines)), by=by)

    @property
    def told(self) -> str:
        """`src/a.py:3-5, 9`."""
        return f"{self.path}:{written(self.spans)}"


def spans(lines: Iterable[int]) -> Iterator[Span]:
    found: list[int] = []
    for line in sorted(set(lines)):
        if found and line != found[-1] + 1:
            yield found[0], found[-1]
            found = []
        found.append(line)
    if found:
        yield found[0], found[-1]


def written(found: Iterable[Span]) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
