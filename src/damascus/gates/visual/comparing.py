"""A picture against those that a person accepted. A page decides what it holds: it is read in a process of its own."""

import base64
import threading
from dataclasses import dataclass
from typing import Any

from damascus.domain.config import VisualConfig
from damascus.domain.errors import TransientError
from damascus.domain.ports import AcceptedPicture
from damascus.gates.visual.masks import rectangles
from damascus.scanning.scanner import ScanFailed, Scanner, TooMuchToRead

WALL_SECONDS = 300.0
"""Far more than its processor time on a machine that is busy."""
_lock = threading.Lock()
_readers: list[Scanner] = []


@dataclass(frozen=True)
class ComparedPicture:
    """With the accepted picture that it is the most like. `problem`: why it is no picture of a page."""

    problem: str = ""
    same: bool = False
    against: AcceptedPicture | None = None
    differing: int = 0
    pixels: int = 0
    difference: bytes = b""


def compared(png: bytes, accepted: list[AcceptedPicture], config: VisualConfig) -> ComparedPicture:
    """The first that it is the same as; else main's, or the last that was accepted."""
    first: ComparedPicture | None = None
    for each in accepted:
        found = _against(png, each, config)
        if found.problem or found.same:
            return found
        first = first or found
    return first or _alone(png, config)


def _alone(png: bytes, config: VisualConfig) -> ComparedPicture:
    told = _ask(png, None, config)
    return ComparedPicture(problem=_problem(told))


def _against(png: bytes, accepted: AcceptedPicture, config: VisualConfig) -> ComparedPicture:
    told = _ask(png, accepted.png, config)
    if problem := _problem(told):
        return ComparedPicture(problem=problem)
    differing, pixels = int(told["differing"]), int(told["pixels"])
    same = differing <= config.threshold * pixels
    return ComparedPicture("", same, accepted, differing, pixels, base64.b64decode(told.get("difference", "")))


def _problem(told: dict[str, Any]) -> str:
    return str(told.get("problem") or ("it is blank: every pixel is the same" if told["blank"] else ""))


def _ask(png: bytes, old: bytes | None, config: VisualConfig) -> dict[str, Any]:
    given = {
        "new": base64.b64encode(png).decode(),
        "old": base64.b64encode(old).decode() if old is not None else None,
        "masks": [list(each) for each in rectangles(config.masks)],
        "tolerance": config.tolerance,
    }
    try:
        found: dict[str, Any] = _reader().call("compare_pictures", **given)
        return found
    except TooMuchToRead:
        return {"problem": "it takes more processor time or memory than a picture may"}
    except ScanFailed as err:
        raise TransientError(f"a picture could not be read: {err}") from err


def _reader() -> Scanner:
    """One for the whole process, started with the first question."""
    with _lock:
        if not _readers:
            _readers.append(Scanner(WALL_SECONDS, reader=True))
        return _readers[0]
