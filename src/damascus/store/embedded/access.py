"""Who may talk to the embedded server: two roles, each with a password in a file of its own that nobody else can read.

`damascus` owns our database and is no superuser: whoever takes it over can neither read a file nor start a program
through the server. `damascus_admin`, the cluster's first role, is used to set it up and by nobody after that. A
command under Landlock can reach the socket (docs/sandbox.md), so no role is ever trusted without its password.

A cluster of an older release has one role, a superuser that is trusted. It is switched over before its next start, in
one statement that can be made again at any time; the rules of who may connect are written last: then it is done.
"""

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from urllib.parse import quote_from_bytes

from damascus.store.embedded.binaries import ServerAccount
from damascus.store.embedded.place import PORT, DatabasePlace

NAME = "damascus"  # of the database and of its owner
ADMIN = "damascus_admin"
FILES = {NAME: "password", ADMIN: "admin-password"}
RULES = "# Written by Damascus: nobody is trusted without a password.\nlocal all all scram-sha-256\n"
ROUNDS = 1  # more of them protect passwords that people choose; every connection pays for them


@dataclass(frozen=True)
class Access:
    """The roles of one server, and their passwords."""

    place: DatabasePlace

    def file(self, role: str) -> Path:
        """In libpq's own format, so that it can be named in an address."""
        return self.place.folder / FILES[role]

    def url(self, role: str) -> str:
        """For psycopg and psql alike; every part is said, so no PGPORT or PGUSER of the user's changes it."""
        host, file = (quote_from_bytes(os.fsencode(path), safe="") for path in (self.place.sockets, self.file(role)))
        return f"postgresql://{role}@/{NAME}?host={host}&port={PORT}&passfile={file}"

    def settled(self) -> bool:
        """Are there passwords, and is nobody trusted without? Of a cluster of an older release neither is true."""
        with suppress(FileNotFoundError):
            return all(map(os.path.exists, map(self.file, FILES))) and self._rules(self.place.data).read_text() == RULES
        return False

    def statement(self) -> str:
        """What makes the roles as they should be, whatever they were, in one transaction."""
        for role in FILES:
            self._choose_password(role)
        text = resources.files("damascus.store").joinpath("embedded_roles.sql").read_text()
        for role in FILES:
            text = text.replace(f"@{role}@", _verifier(password(self.file(role))))
        return text.strip().replace("\n\n", "\n") + "\n\n"

    def write_rules(self, cluster: Path, account: ServerAccount | None) -> None:
        """Whole or not at all, and on disk."""
        aside = cluster / "pg_hba.conf.new"
        aside.unlink(missing_ok=True)
        _write(aside, RULES, account)
        aside.rename(self._rules(cluster))
        sync(cluster)

    def _rules(self, cluster: Path) -> Path:
        return cluster / "pg_hba.conf"

    def _choose_password(self, role: str) -> None:
        """One that is there is kept: whoever is connected by it may come again."""
        if self.file(role).exists():
            return
        aside = self.file(role).with_suffix(".new")
        aside.unlink(missing_ok=True)
        _write(aside, f"*:*:*:{role}:{secrets.token_hex(32)}\n", None)
        aside.rename(self.file(role))
        sync(self.place.folder)


def password(file: Path) -> str:
    return file.read_text().strip().rpartition(":")[2]


def _verifier(password: str) -> str:
    """What the server keeps of a password (RFC 5803), made here: the password itself is in no statement and no log."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS)
    client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    salt_, stored, key = (base64.b64encode(each).decode() for each in (salt, hashlib.sha256(client).digest(), server))
    return f"SCRAM-SHA-256${ROUNDS}:{salt_}${stored}:{key}"


def _write(path: Path, text: str, account: ServerAccount | None) -> None:
    """A new file that only its owner can read, on disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "w") as file:
        if account:
            os.fchown(handle, account.uid, account.gid)
        file.write(text)
        file.flush()
        os.fsync(handle)


def sync(folder: Path) -> None:
    """A rename is lost in a power cut until its folder is on disk, and with it all that was committed since."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
