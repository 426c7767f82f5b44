"""Tokens for programs: made by a person, shown once, known again by a hash, revoked at any time."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from damascus.app import Project
from damascus.domain.errors import DamascusError, NotThere, UsageError
from damascus.domain.visible import visible
from damascus.people.acts import Actor, Done
from damascus.store import tokens
from damascus.store.db import Database
from damascus.store.tokens import NewToken, TokenRow, TokenScope
from damascus.telling.phrases import one_line

FORM = re.compile(r"damascus_([1-9][0-9]{0,18})_([A-Za-z0-9_-]{43})", re.ASCII)
"""`damascus_<number>_<secret>`: 32 random bytes in URL-safe base64."""
SECRET_BYTES = 32
LONGEST_NAME = 100
LONGEST_DAYS = 3650
SCOPES: dict[str, TokenScope] = {"read": "read", "act": "act"}
NOBODY = "0" * 64
"""Compared with where no row is: who guesses learns nothing from the time that it took."""


@dataclass(frozen=True)
class TokenMade(Done):
    """The row, and the token itself: this is the only time that it is known."""

    row: TokenRow
    token: str


@dataclass(frozen=True)
class TokenRevoked(Done):
    """The number of the token that is worth nothing from now on."""

    number: int


def new(
    db: Database, project: Project, scope: str, person: Actor, *, name: str = "", days: int | None = None
) -> TokenMade:
    """A program that shows it may read, or read and act, in this project alone."""
    if scope not in SCOPES:
        raise UsageError(f"there is no scope {one_line(scope)!r}. There are: read (look at everything), act (and act).")
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"a token lasts from 1 to {LONGEST_DAYS} days. Write it like: --expires 90")
    secret = secrets.token_urlsafe(SECRET_BYTES)
    lasts = timedelta(days=days) if days is not None else None
    row = tokens.make(
        db, project.row.id, NewToken(_name(name), SCOPES[scope], _digest(secret), person.name, lasts)
    )  # fmt: skip
    told = f"damascus_{row.id}_{secret}"
    until = f"until {row.expires_at:%Y-%m-%d}" if row.expires_at else "until it is revoked"
    may = "read" if row.scope == "read" else "read and act"
    said = f"Token {row.id} ({row.name}) may {may}, {until}. It is shown this once:\n{told}"
    return TokenMade(said, f"damascus token revoke {row.id}   (when it is not needed any more)", row, told)


def _name(name: str) -> str:
    told = one_line(visible(name)) or "a program"
    if len(told) > LONGEST_NAME:
        raise UsageError(f"the name is longer than {LONGEST_NAME} characters. Say in fewer which program it is for.")
    return told


def _digest(secret: str) -> str:
    """Plain SHA-256 is enough: the secret is 256 random bits and no word that anybody could try."""
    return hashlib.sha256(secret.encode()).hexdigest()


def known(db: Database, project: Project, presented: str) -> TokenRow | None:
    """Whose token it is; None for one that is wrong, of another project, expired or revoked."""
    found = FORM.fullmatch(presented)
    if found is None:
        return None
    row = tokens.token(db, project.row.id, int(found[1]))
    same = hmac.compare_digest(_digest(found[2]), row.sha256 if row else NOBODY)
    return row if row is not None and same and row.valid else None


def listed(db: Database, project: Project) -> list[TokenRow]:
    return tokens.tokens(db, project.row.id)


def revoke(db: Database, project: Project, number: int) -> TokenRevoked:
    """From the next request on it is refused."""
    row = tokens.token(db, project.row.id, number)
    if row is None:
        raise NotThere(f"there is no token {number} in this project. See them all: damascus token list")
    if not tokens.revoke(db, project.row.id, number):
        raise DamascusError(f"token {number} ({row.name}) is revoked already.")
    return TokenRevoked(f"Token {number} ({row.name}) is revoked.", "damascus token list", number)


def published(row: TokenRow) -> dict[str, Any]:
    """The keys that programs read; never the hash."""
    return {
        "id": row.id,
        "name": row.name,
        "scope": row.scope,
        "made_by": row.made_by,
        "made_at": row.made_at,
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
        "valid": row.valid,
    }
