"""Tests that stand inside the code."""

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class InnerTests:
    """`may_hold`: can this source have any? `with_tests_of`: the second source with the first one's, None where they
    are the same; `on_base`: the same for a base that may know nothing of what they test, with the names of the files
    that are new, so that they are run there and can fail. ValueError where that can't be done. `says`: the words around
    the test of this name, "" where tests are read as all others are."""

    may_hold: Callable[[str], bool]
    with_tests_of: Callable[[str, str], str | None]
    on_base: Callable[[str, str, Collection[str]], str | None]
    says: Callable[[str, str], str] = lambda source, name: ""
