"""Browsers that have entered: a one-time link gives a cookie that only this installation can have written.

The cookie names a session and is signed with a key in the data folder: a window that was killed knows its browsers
again, and nothing of a session is kept. The link is of this process alone and works once.
"""

import hmac
import secrets
import threading
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from damascus.system.replacing import replace_file

KEY_FILE = "window.key"
KEY_BYTES = 32
LASTS = 14 * 24 * 3600
LONGEST = 256
"""Characters of a cookie that is looked at."""


@dataclass(frozen=True)
class Session:
    """One browser, and what its forms must bring back."""

    id: str
    csrf: str


class Sessions:
    """Of one project: a cookie of another one's window is none here."""

    def __init__(self, home: Path, project: UUID) -> None:
        self.cookie = f"damascus_{project.hex[:8]}"
        """Browsers send a cookie to every port of a host, so each project's has a name of its own."""
        self._key = hmac.new(_key(home / KEY_FILE), project.bytes, sha256).digest()
        self._links: set[str] = set()
        self._guard = threading.Lock()

    def link(self) -> str:
        """The secret of a new one-time link."""
        secret = secrets.token_urlsafe(24)
        with self._guard:
            self._links.add(secret)
        return secret

    def enter(self, secret: str) -> str | None:
        """The cookie of a new session; the link is used up by that."""
        with self._guard:
            known = next((link for link in self._links if hmac.compare_digest(link.encode(), secret.encode())), None)
            if known is None:
                return None
            self._links.remove(known)
        return self.cookie_of(secrets.token_hex(8), int(time.time()))

    def cookie_of(self, session: str, since: int) -> str:
        return f"{session}.{since}.{self._signed(f'session {session} {since}')}"

    def known(self, cookie: str) -> Session | None:
        """None for what we have not written, and for what is too old."""
        parts = cookie.split(".") if len(cookie) <= LONGEST and cookie.isascii() else []
        if len(parts) != 3 or not parts[1].isdecimal() or len(parts[1]) > 12:
            return None
        session, since, mark = parts
        if not hmac.compare_digest(mark, self._signed(f"session {session} {since}")):
            return None
        return Session(session, self._signed(f"csrf {session}")) if time.time() - int(since) < LASTS else None

    def _signed(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), sha256).hexdigest()


def _key(path: Path) -> bytes:
    """Made when first asked for, readable by its owner alone."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        found = b""
    if len(found) != KEY_BYTES:
        found = secrets.token_bytes(KEY_BYTES)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, found, mode=0o600)
    return found
