"""Where a worker tells what a person may have to reconstruct later: one line a fact, no secrets, no agent's words."""

from typing import Any, Protocol


class Log(Protocol):
    """`facts` are short values by name; `exc_info` is an error, told with its traceback."""

    def info(self, event: str, **facts: Any) -> Any: ...

    def error(self, event: str, **facts: Any) -> Any: ...


class NoLog:
    """Of a process that is no worker."""

    def info(self, event: str, **facts: Any) -> None:
        """Nobody reads it."""

    def error(self, event: str, **facts: Any) -> None:
        """Nobody reads it."""
