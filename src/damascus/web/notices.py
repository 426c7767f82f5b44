"""What was just done, kept until the next page has shown it. An address has its number, never its words."""

import secrets
import threading
from collections import OrderedDict

MOST = 500


class Notices:
    """The latest few, in memory: whoever restarts the window loses a sentence, not what it told of."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._guard = threading.Lock()

    def keep(self, sentence: str) -> str:
        number = secrets.token_urlsafe(9)
        with self._guard:
            self._kept[number] = sentence
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return number

    def told(self, number: str) -> str:
        """ "" for a number that is not known (any more)."""
        with self._guard:
            return self._kept.get(number, "")
