"""Tokens of programs: rows with a hash. The database's clock says whether one is valid."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from damascus.domain.storable import LARGEST_NUMBER
from damascus.store.db import Database

TokenScope = Literal["read", "act"]


@dataclass(frozen=True)
class TokenRow:
    """A token without its secret. `valid`: neither revoked nor past its day."""

    id: int
    name: str
    scope: TokenScope
    sha256: str
    made_by: str
    made_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    valid: bool


@dataclass(frozen=True)
class NewToken:
    """What a token is made of. `lasts` None: until it is revoked."""

    name: str
    scope: TokenScope
    sha256: str
    by: str
    lasts: timedelta | None


def make(db: Database, project: int, new: NewToken) -> TokenRow:
    row = db.one("make_token", project=project, **vars(new))
    assert row is not None
    return TokenRow(**row)


def token(db: Database, project: int, number: int) -> TokenRow | None:
    row = db.one("token", project=project, id=number) if number < LARGEST_NUMBER else None
    return TokenRow(**row) if row else None


def tokens(db: Database, project: int) -> list[TokenRow]:
    """All that were ever made, oldest first."""
    return [TokenRow(**row) for row in db.all("tokens", project=project)]


def revoke(db: Database, project: int, number: int) -> bool:
    """False: it was revoked before."""
    return db.one("revoke_token", project=project, id=number) is not None
