"""Pull requests of one GitHub repository, each found again by its branch.

GitHub allows one open pull per head and base and answers 422 to a second one, so of any number of workers one opens it
and the others find it. A comment carries its key in a mark that a reader does not see. A pull whose head is pushed to
main is marked as merged by GitHub itself, a moment later; any other that landed is closed with a comment that says as
which commit, and that comment makes it a merged one for us.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import Pull, PullState, Review, ReviewState
from damascus.domain.skip_marks import without_skip_marks
from damascus.forges.github.api import GithubApi
from damascus.forges.http import HttpAnswer
from damascus.forges.marks import is_marked, keys_of, marked, without_marks
from damascus.forges.proofs import Proofs

TEXT_LIMIT = 60_000
"""GitHub refuses a body of more than 65536 characters."""
REVIEWS = {"APPROVED": ReviewState.APPROVED, "CHANGES_REQUESTED": ReviewState.CHANGES}
WRITES = ("write", "admin")
LANDED = "landed-as-"
LOOKS = (1.0, 2.0, 4.0)
"""Seconds before each further look whether GitHub has marked a pull as merged."""


@dataclass(frozen=True)
class GithubPulls:
    """Find, open, comment and close."""

    api: GithubApi
    base: str
    pause: Callable[[float], None] = time.sleep

    def find(self, branch: str) -> Pull | None:
        row = self._row(branch)
        return self._pull(row) if row is not None else None

    def open(self, branch: str, title: str, body: str, head: Sha) -> Pull:
        """A mark in a title would reach main with GitHub's merge, and skip its CI."""
        wanted = {"title": without_skip_marks(title), "body": _cut(body)}
        row = self._row(branch)
        if row is not None and row["state"] == "open":
            return self._brought_up_to_date(row, wanted)
        known = self._pull(row) if row is not None else None
        if known is not None and known.state == PullState.MERGED and head in (known.merged_commit, known.head_sha):
            return known  # a worker that wakes up late: its heir has merged exactly this
        answer = self.api.call("POST", "/pulls", json={**wanted, "head": branch, "base": self.base})
        if answer.status == 422:
            return self._opened_by_another(answer, branch, wanted)
        return self._pull(answer.expected().json)

    def comment(self, number: int, key: str, text: str) -> None:
        if not any(is_marked(_body(row), key) for row in self._comments(number)):
            body = marked(_cut(text), key)
            self.api.call("POST", f"/issues/{number}/comments", json={"body": body}).expected()

    @property
    def proofs(self) -> Proofs:
        return Proofs(self.api, "", self._comments, self._me, lambda commit: f"{LANDED}{commit}")

    def _me(self, number: int) -> str:
        """Whose token it is. An app's token has no user, but its pulls have an author."""
        return self.api.login() or _author(self.api.get(f"/pulls/{number}"))

    def close_merged(self, number: int, commit: Sha, *, on_main: bool) -> None:
        """`on_main`: the commit is there. If it is the pull's own head, GitHub is about to mark the pull."""
        row = self.api.get(f"/pulls/{number}")
        for seconds in LOOKS if on_main and row["head"]["sha"] == commit else ():
            if row.get("merged_at"):
                return
            self.pause(seconds)
            row = self.api.get(f"/pulls/{number}")
        if row.get("merged_at"):
            return
        self.comment(number, f"{LANDED}{commit}", f"Landed on `{self.base}` as {commit}.")
        if row["state"] == "open":
            self.api.call("PATCH", f"/pulls/{number}", json={"state": "closed"}).expected()

    def reviews(self, number: int) -> list[Review]:
        """Of people who may write here: on a public repository anybody can approve, and it means nothing."""
        rows = [row for row in self.api.rows(f"/pulls/{number}/reviews") if row["state"] in REVIEWS]
        if not rows:
            return []
        writers = {name for name in {_author(row) for row in rows if _is_person(row)} if self._may_write(name)}
        writers -= {_author(self.api.get(f"/pulls/{number}"))}  # the pull is ours
        return [self._review(number, row) for row in rows if _is_person(row) and _author(row) in writers]

    def _may_write(self, name: str) -> bool:
        told = self.api.call("GET", f"/collaborators/{quote(name, safe='')}/permission")
        return told.ok and told.json.get("permission") in WRITES

    def _review(self, number: int, row: dict[str, Any]) -> Review:
        beside = self.api.rows(f"/pulls/{number}/reviews/{row['id']}/comments")
        said = [row.get("body") or "", *(f"{each['path']}: {each['body']}" for each in beside)]
        return Review(
            id=str(row["id"]),
            by=_author(row),
            state=REVIEWS[row["state"]],
            words="\n".join(part.strip() for part in said if part.strip()),
            commit=row.get("commit_id") or "",
        )

    # ── rows ──────────────────────────────────────────────────────────────────────────────────────────

    def _row(self, branch: str) -> dict[str, Any] | None:
        """The open one, else the newest. Rows of others are dropped: a filter that GitHub can't read is no filter."""
        label = f"{self.api.address.owner}:{branch}"
        try:
            rows = self.api.rows("/pulls", head=label, base=self.base, state="all", sort="created", direction="desc")
        except LookupError:
            raise DamascusError(
                f"{self.api.address.url} is not there, or the token may not see it. Correct [forge] url, or give the "
                "token the right to read pull requests (docs/forges.md)."
            ) from None
        mine = [row for row in rows if _is_of(row, label) and row["base"]["ref"] == self.base]
        opened = [row for row in mine if row["state"] == "open"]
        return max(opened or mine, key=lambda row: int(row["number"]), default=None)

    def _opened_by_another(self, answer: HttpAnswer, branch: str, wanted: dict[str, str]) -> Pull:
        """422 has many reasons, all under one name; two of them are known to us."""
        errors = [error for error in answer.json.get("errors") or [] if isinstance(error, dict)]
        if any("already exists" in str(error.get("message")) for error in errors):
            row = self._row(branch)
            if row is None or row["state"] != "open":
                raise TransientError(f"GitHub has a pull request of {branch} that it does not list yet")
            return self._brought_up_to_date(row, wanted)
        if any(error.get("field") == "head" for error in errors):
            raise LookupError(f"branch {branch} was not pushed, so it can have no pull")
        why = "; ".join(str(error.get("message") or error) for error in errors) or answer.message
        raise DamascusError(f"GitHub opens no pull request for {branch}: {why}.")

    def _brought_up_to_date(self, row: dict[str, Any], wanted: dict[str, str]) -> Pull:
        if {"title": row["title"], "body": _body(row)} != wanted:
            row = self.api.call("PATCH", f"/pulls/{row['number']}", json=wanted).expected().json
        return self._pull(row)

    def _comments(self, number: int) -> list[dict[str, Any]]:
        return self.api.rows(f"/issues/{number}/comments")

    def _pull(self, row: dict[str, Any]) -> Pull:
        comments = self._comments(row["number"])
        merged_commit = _merged_commit(row, comments)
        return Pull(
            number=row["number"],
            url=row["html_url"],
            head=row["head"]["ref"],
            base=row["base"]["ref"],
            head_sha=row["head"]["sha"],
            title=row["title"],
            body=_body(row),
            state=_state(row, merged_commit),
            merged_commit=merged_commit,
            comments=[without_marks(_body(comment)) for comment in comments],
        )


def _state(row: dict[str, Any], merged_commit: str | None) -> PullState:
    if row["state"] == "open":
        return PullState.OPEN
    return PullState.MERGED if merged_commit else PullState.CLOSED


def _is_of(row: dict[str, Any], label: str) -> bool:
    """An owner's name has no case, a branch's has."""
    owner, _, branch = label.partition(":")
    theirs, _, head = str(row["head"].get("label") or "").partition(":")
    return theirs.lower() == owner.lower() and head == branch


def _merged_commit(row: dict[str, Any], comments: list[dict[str, Any]]) -> str | None:
    """An open pull has a `merge_commit_sha`, too: of a merge that was only tried."""
    if row["state"] == "open":
        return None
    if row.get("merged_at"):
        return str(row.get("merge_commit_sha") or row["head"]["sha"])
    ours = [_body(comment) for comment in comments if _author(comment) == _author(row)]
    found = [key.removeprefix(LANDED) for body in ours for key in keys_of(body) if key.startswith(LANDED)]
    return found[-1] if found and SHA_PATTERN.fullmatch(found[-1]) else None


def _author(row: dict[str, Any]) -> str:
    return str((row.get("user") or {}).get("login"))


def _is_person(row: dict[str, Any]) -> bool:
    return bool(row.get("user")) and row["user"].get("type", "User") == "User"


def _body(row: dict[str, Any]) -> str:
    """GitHub keeps a body as a form would send it."""
    return str(row.get("body") or "").replace("\r\n", "\n")


def _cut(text: str) -> str:
    left = len(text) - TEXT_LIMIT
    return text if left <= 0 else f"{text[:TEXT_LIMIT]}\n\n… ({left} more characters)"
