"""The proof on a pull request of a forge that has a server: one comment, edited in place, and a status on the commit.

The comment is known by its mark and by who wrote it: anybody may write a comment that carries our mark, and it is not
ours to edit. Two workers may write their first one at the same moment: the oldest stays, whoever sees others of ours
deletes them. A status needs no looking for: of each name the newest counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha
from damascus.domain.ports import Pull, PullProof
from damascus.domain.ports.forges import OWN_STATUS, STATUS_LINE
from damascus.forges.http import Api
from damascus.forges.marks import is_marked, marked

Row = Mapping[str, Any]
LONGEST = 60_000
"""GitHub refuses a comment of more than 65536 characters. Ours is far shorter (domain/pull_comment.py)."""


@dataclass(frozen=True)
class Proofs:
    """`path` is the repository's part of every call, `comments` those of a pull, `me` whose token it is, `landed` the
    key of the mark that says as which commit a pull landed."""

    api: Api
    path: str
    comments: Callable[[int], Sequence[Row]]
    me: Callable[[int], str]
    landed: Callable[[Sha], str]

    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        parts = {"comment": lambda: self._comment(pull, proof), "status": lambda: self._status(pull, proof)}
        return [f"{name}: {why}" for name, act in parts.items() if (why := _refused(act))]

    # ── the comment ───────────────────────────────────────────────────────────────────────────────────

    def _comment(self, pull: Pull, proof: PullProof) -> None:
        keys = [*([self.landed(proof.landed)] if proof.landed else []), proof.key]
        body = marked(proof.text[:LONGEST], *keys)
        first, *others = self._known(pull.number, proof.key) or self._made(pull.number, body, proof.key)
        for row in others:
            self._delete(row)
        if _body(first) != body:
            self.api.call("PATCH", f"{self.path}/issues/comments/{first['id']}", json={"body": body}).expected()

    def _known(self, number: int, key: str) -> list[Row]:
        """Ours, oldest first."""
        found = self._with_mark(number, key)
        me = self.me(number).lower() if found else ""
        return [row for row in found if author(row) == me]

    def _made(self, number: int, body: str, key: str) -> list[Row]:
        """The new one, and whatever somebody else of us wrote at the same moment."""
        made: Row = self.api.call("POST", f"{self.path}/issues/{number}/comments", json={"body": body}).expected().json
        mine = [row for row in self._with_mark(number, key) if author(row) == author(made)]
        return mine if any(row["id"] == made["id"] for row in mine) else [made]

    def _with_mark(self, number: int, key: str) -> list[Row]:
        found = [row for row in self.comments(number) if is_marked(_body(row), key)]
        return sorted(found, key=lambda row: int(row["id"]))

    def _delete(self, row: Row) -> None:
        answer = self.api.call("DELETE", f"{self.path}/issues/comments/{row['id']}")
        if answer.status != 404:  # whoever wrote it has deleted it already
            answer.expected()

    # ── the status ────────────────────────────────────────────────────────────────────────────────────

    def _status(self, pull: Pull, proof: PullProof) -> None:
        line = proof.line if len(proof.line) <= STATUS_LINE else proof.line[: STATUS_LINE - 1] + "…"
        told = {"state": proof.state.value, "context": OWN_STATUS, "description": line, "target_url": pull.url}
        self.api.call("POST", f"{self.path}/statuses/{proof.commit}", json=told).expected()


def is_own_status(row: Row) -> bool:
    """The name of a status has no case."""
    return str(row.get("context", "")).lower() == OWN_STATUS


def author(row: Row) -> str:
    return str((row.get("user") or {}).get("login") or "").lower()


def _body(row: Row) -> str:
    """As a form would send it, on some forges."""
    return str(row.get("body") or "").replace("\r\n", "\n")


def _refused(act: Callable[[], None]) -> str:
    """What the forge says no to is told, and holds nobody; trouble on the way is raised."""
    try:
        act()
    except (DamascusError, LookupError) as err:
        return str(err)
    return ""
