"""The log of a worker's process: a JSON line for each fact, in a few files of a few MB (log_files.py names them).

Imported by those who make a worker only: the command line starts without it.
"""

import logging
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

import structlog

from damascus.system.log_files import log_file
from damascus.system.masking import own_keys, without_secrets

LARGEST = 4_000_000
OLDER = 3
"""Files beside the one that is written."""
MOST_TEXT = 20_000
WORDS_KEPT = 256
FIRST = ("time", "level", "worker", "event", "story")


class WorkerLog:
    """Open until the worker ends. What can't be written (a full disk) is lost, and disturbs nobody."""

    def __init__(self, home: Path, worker: str, *, also: TextIO | None = None) -> None:
        self.path = log_file(home, worker)
        self._handlers = [_file(self.path), *([_Stream(also)] if also is not None else [])]
        sink = logging.Logger(worker, logging.INFO)
        for handler in self._handlers:
            sink.addHandler(handler)
        self.log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
            sink,
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.format_exc_info,
                _Harmless(),
                structlog.processors.JSONRenderer(),
            ],
        ).bind(worker=worker)

    def close(self) -> None:
        for handler in self._handlers:
            handler.close()


class _Rotating(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """The disk is full, or the folder gone."""


class _Stream(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Nobody reads any more."""


def _file(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return logging.NullHandler()
    return _Rotating(path, maxBytes=LARGEST, backupCount=OLDER, encoding="utf-8", errors="backslashreplace", delay=True)


class _Harmless:
    """Without keys, no longer than anybody reads, and what every line has comes first. Lines repeat each other's words
    (the worker, a story, a gate, a commit): each is looked through once."""

    def __init__(self) -> None:
        self._keys = own_keys()
        self._plain = lru_cache(maxsize=WORDS_KEPT)(self._looked_through)

    def __call__(self, _: Any, __: str, facts: MutableMapping[str, Any]) -> Mapping[str, Any]:
        ordered = {name: facts[name] for name in FIRST if name in facts} | dict(facts)
        return {name: self._plain(value) if isinstance(value, str) else value for name, value in ordered.items()}

    def _looked_through(self, text: str) -> str:
        return without_secrets(text, self._keys)[-MOST_TEXT:]
