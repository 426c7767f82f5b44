"""A value that an object works out once, when it is first asked for."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class once(cached_property[T]):  # noqa: N801 - a decorator, as `property` is
    """`cached_property` without its lock. Before Python 3.12 there is one for all objects of a class, held while the
    value is worked out: where that is a run of tests, every story would wait for every other's."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()
