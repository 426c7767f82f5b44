"""Pulls of Gitea and Forgejo: one per branch, found again by its head, closed as what landed.

`GET /pulls/{base}/{head}` knows no state and no order, so it only says whether there is any; which one counts is
found in the lists. Creation is not guarded by the forge against two at the same moment: on this host they queue, and
whoever still finds an older open one closes its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Pull, PullState, Review, ReviewState
from damascus.domain.skip_marks import without_skip_marks
from damascus.forges.http import Api, HttpAnswer
from damascus.forges.marks import is_marked, marked, without_marks
from damascus.forges.proofs import Proofs
from damascus.git.mirror import Mirror

REVIEWS = {"APPROVED": ReviewState.APPROVED, "REQUEST_CHANGES": ReviewState.CHANGES}


@dataclass(frozen=True)
class GiteaPulls:
    """`path` is the repository's part of every call, `base` the branch that is landed on, `pushed` asks git whether the
    forge has a branch."""

    api: Api
    path: str
    base: str
    mirror: Mirror
    pushed: Callable[[str], bool]

    # ── find and open ─────────────────────────────────────────────────────────────────────────────────

    def find(self, branch: str) -> Pull | None:
        row = self._row(branch)
        return self._pull(row) if row else None

    def open(self, branch: str, title: str, body: str, head: Sha) -> Pull:
        """Opens it, or brings the open one up to date. What was merged with exactly this head stays merged."""
        wanted = {"title": without_skip_marks(title), "body": body}
        with self.mirror.locked("pulls"):
            row = self._row(branch)
            if row and _state(row) == "closed":
                row = None
            if row and _state(row) == "merged" and head not in (row.get("merge_commit_sha"), _head(row)):
                row = None
            row = row or self._created(branch, wanted)
        if _state(row) == "open" and any(row.get(key) != value for key, value in wanted.items()):
            row = self.api.call("PATCH", f"{self.path}/pulls/{row['number']}", json=wanted).expected().json
        return self._pull(row)

    def _created(self, branch: str, wanted: Mapping[str, str]) -> Mapping[str, Any]:
        answer = self.api.call("POST", f"{self.path}/pulls", json={**wanted, "head": branch, "base": self.base})
        if answer.status == 404:
            if self.pushed(branch):  # the API learns of a push a moment after git does
                raise TransientError(f"the forge's API does not know the branch {branch} yet")
            raise LookupError(f"branch {branch} was not pushed, so it can have no pull")
        if answer.status != 409:
            made: Mapping[str, Any] = answer.expected().json
            return self._only_one(branch, made)
        if (row := self._row(branch)) and _state(row) == "open":
            return row
        raise TransientError(f"{branch} has a pull that can't be found yet: {answer.message}")

    def _only_one(self, branch: str, made: Mapping[str, Any]) -> Mapping[str, Any]:
        """Somebody on another host may have opened one between our look and our call: the older one stays."""
        older = [row for row in self._listed("open", branch) if row["number"] < made["number"]]
        if not older:
            return made
        self.close(int(made["number"]))
        return min(older, key=lambda row: int(row["number"]))

    def _row(self, branch: str) -> Mapping[str, Any] | None:
        any_of_it = self._any(branch)
        if any_of_it is None or _state(any_of_it) == "open":
            return any_of_it
        for state in ("open", "closed"):
            found = list(self._listed(state, branch, first=True))
            if found:
                return found[0]
        return None

    def _any(self, branch: str) -> Mapping[str, Any] | None:
        """None: there never was one. A base with a slash can't be asked for in this way."""
        if "/" in self.base:
            return {"state": "closed", "head": {"ref": branch}}
        found = self.api.find(f"{self.path}/pulls/{quote(self.base, safe='')}/{quote(branch)}")
        return found if found and _branch(found) == branch else None

    def _listed(self, state: str, branch: str, *, first: bool = False) -> Iterator[Mapping[str, Any]]:
        """Newest first; only pulls of this very repository, not of a fork's branch with the same name."""
        for row in self.api.pages(f"{self.path}/pulls", state=state):
            if _branch(row) == branch and row["base"]["ref"] == self.base and _own(row):
                yield row
                if first:
                    return

    def read(self, number: int) -> Mapping[str, Any]:
        row: Mapping[str, Any] = self.api.get(f"{self.path}/pulls/{number}")
        return row

    def _pull(self, row: Mapping[str, Any]) -> Pull:
        state = _state(row)
        return Pull(
            number=row["number"],
            url=row["html_url"],
            head=_branch(row),
            base=row["base"]["ref"],
            head_sha=_head(row),
            title=row["title"],
            body=row.get("body") or "",
            state=state,
            merged_commit=row.get("merge_commit_sha") if state == PullState.MERGED else None,
            comments=[without_marks(each["body"]) for each in self._comments(row["number"])],
        )

    # ── comment and close ─────────────────────────────────────────────────────────────────────────────

    def comment(self, number: int, key: str, text: str) -> None:
        """Once: the key is in a mark that no page shows."""
        if any(is_marked(each["body"], key) for each in self._comments(number)):
            return
        path = f"{self.path}/issues/{number}/comments"
        self.api.call("POST", path, json={"body": marked(text, key)}).expected()

    @property
    def proofs(self) -> Proofs:
        return Proofs(self.api, self.path, self._comments, lambda _: self._me(), _landed)

    def _comments(self, number: int) -> list[Mapping[str, Any]]:
        rows = self.api.get(f"{self.path}/issues/{number}/comments")
        return sorted(rows or [], key=lambda row: int(row["id"]))

    def reviews(self, number: int) -> list[Review]:
        """Of people who may write here, that is whom an issue can be assigned to; ours is no review of ours."""
        path = f"{self.path}/pulls/{number}/reviews"
        rows = [row for row in self.api.pages(path) if row["state"] in REVIEWS and not row.get("dismissed")]
        if not rows:
            return []
        writers = {_login(row) for row in self.api.get(f"{self.path}/assignees") or []}
        writers -= {self._me()}
        return [self._review(path, row) for row in rows if _login(row.get("user") or {}) in writers]

    def _me(self) -> str:
        return str(self.api.get("/user")["login"]).lower()

    def _review(self, path: str, row: Mapping[str, Any]) -> Review:
        beside = self.api.get(f"{path}/{row['id']}/comments") if row.get("comments_count") else []
        said = [row.get("body") or "", *(f"{each['path']}: {each['body']}" for each in beside or [])]
        return Review(
            id=str(row["id"]),
            by=str(row["user"]["login"]),
            state=REVIEWS[row["state"]],
            words="\n".join(part.strip() for part in said if part.strip()),
            commit=row.get("commit_id") or "",
        )

    def close_merged(self, number: int, commit: Sha) -> None:
        """Merged as exactly this commit; where the repository forbids that, closed with a word of where it is."""
        row = self.read(number)
        if _state(row) != PullState.OPEN:
            return
        answer = self.merge(number, {"Do": "manually-merged", "MergeCommitID": commit})
        if answer.ok or _state(self.read(number)) != "open":
            return
        if answer.status not in (405, 422):
            raise DamascusError(f"the forge does not take pull {number} as merged by {commit}: {answer.message}")
        self.comment(number, _landed(commit), f"Landed on {self.base} as {commit}.")
        self.close(number)

    def merge(self, number: int, how: Mapping[str, str]) -> HttpAnswer:
        return self.api.call("POST", f"{self.path}/pulls/{number}/merge", json=dict(how))

    def close(self, number: int) -> None:
        self.api.call("PATCH", f"{self.path}/pulls/{number}", json={"state": "closed"}).expected()


def _landed(commit: Sha) -> str:
    return f"landed-{commit}"


def _state(row: Mapping[str, Any]) -> PullState:
    if row.get("merged"):
        return PullState.MERGED
    return PullState.OPEN if row["state"] == "open" else PullState.CLOSED


def _branch(row: Mapping[str, Any]) -> str:
    """Of a branch that is gone the forge names the pull's own ref, and the branch as its label."""
    head = row["head"]
    return str(head.get("label") if head["ref"].startswith("refs/pull/") else head["ref"])


def _head(row: Mapping[str, Any]) -> str:
    return str(row["head"].get("sha") or "")


def _login(user: Mapping[str, Any]) -> str:
    return str(user.get("login", "")).lower()


def _own(row: Mapping[str, Any]) -> bool:
    return row["head"].get("repo_id") in (None, row["base"].get("repo_id"))
