"""Browsers that have entered: a one-time link gives a cookie that only this installation can have written.

The cookie names a session and is signed with a key in the data folder: a window that was killed knows its browsers
again, and nothing of a session is kept. A link is an empty file there, named by the hash of its secret: whoever has the
data folder can make one (`damascus web --link`), and it works once, because a file is removed once.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from damascus.system.replacing import replace_file

KEY_FILE = "window.key"
KEY_BYTES = 32
LASTS = 14 * 24 * 3600
LONGEST_NAME = 150
LINKS = "window-links"
LINK_LASTS = 24 * 3600
LONGEST = 1024
"""Characters of a cookie that is looked at."""


@dataclass(frozen=True)
class BrowserSession:
    """One browser, and what its forms must bring back."""

    id: str
    csrf: str
    name: str
    """Whom the link was made for: the acts of this browser are by that name."""


class Sessions:
    """Of one project: a cookie of another one's window is none here."""

    def __init__(self, home: Path, project: UUID) -> None:
        self.cookie = f"damascus_{project.hex[:8]}"
        """Browsers send a cookie to every port of a host, so each project's has a name of its own."""
        self._key = hmac.new(_key(home / KEY_FILE), project.bytes, sha256).digest()
        self._links = home / LINKS / project.hex

    def link(self, name: str = "") -> str:
        """The secret of a new one-time link, made for whom."""
        secret = secrets.token_urlsafe(24)
        self._links.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in self._links.iterdir():
            if _age(old) > LINK_LASTS:
                old.unlink(missing_ok=True)
        replace_file(self._file(secret), name[:LONGEST_NAME], mode=0o600)
        return secret

    def enter(self, secret: str) -> str | None:
        """The cookie of a new session; the link is used up by that."""
        file = self._file(secret)
        try:
            fresh, name = _age(file) <= LINK_LASTS, file.read_text()
            file.unlink()
        except FileNotFoundError:
            return None
        return self.cookie_of(secrets.token_hex(8), int(time.time()), name) if fresh else None

    def _file(self, secret: str) -> Path:
        return self._links / sha256(secret.encode()).hexdigest()

    def cookie_of(self, session: str, since: int, name: str = "") -> str:
        told = f"{session}.{since}.{urlsafe_b64encode(name.encode()).decode().rstrip('=')}"
        return f"{told}.{self._signed(f'session {told}')}"

    def known(self, cookie: str) -> BrowserSession | None:
        """None for what we have not written, and for what is too old."""
        told, _, mark = cookie.rpartition(".") if len(cookie) <= LONGEST and cookie.isascii() else ("", "", "")
        if not hmac.compare_digest(mark, self._signed(f"session {told}")):
            return None
        session, since, name = told.split(".")
        whose = urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
        fresh = time.time() - int(since) < LASTS
        return BrowserSession(session, self._signed(f"csrf {session}"), whose) if fresh else None

    def _signed(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), sha256).hexdigest()


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


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
