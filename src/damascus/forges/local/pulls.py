"""Pulls of the local forge: JSON blobs in the mirror, one ref per number and one per branch.

`refs/damascus/pulls/<n>` is the pull, its number taken by creating that ref. `refs/damascus/pull-of/<branch>` is the
branch's current pull; both are made in one transaction with `refs/damascus/last-pull`, so that of any number of
workers exactly one opens it and the others find it. Reading takes no git process, opening a pull takes one.

Git makes a transaction's refs visible one after the other, so a reader, or whoever comes after a kill, may find them
apart. Therefore each ref is moved from what was read of it, the newest version counts, and a pull that was left
without its branch's ref is adopted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, Field

from damascus.domain.ids import Sha
from damascus.domain.ports import ProofState, Pull, PullState, Stale
from damascus.git.mirror import Mirror, RefMove
from damascus.git.objects import GitObject

T = TypeVar("T")
LAST = "refs/damascus/last-pull"
TRIES = 100


class CommitStatus(BaseModel):
    """Our status on a commit."""

    state: ProofState
    line: str


class PullRecord(Pull):
    """A pull as it is stored. `notes` are its comments by key, so that none is written twice; `statuses` are ours by
    commit."""

    notes: dict[str, str] = Field(default_factory=dict)
    statuses: dict[str, CommitStatus] = Field(default_factory=dict)
    version: int = 0

    def told(self, head: Sha | None) -> Pull:
        fields = self.model_dump(exclude={"notes", "statuses", "version", "comments", "head_sha"})
        return Pull(**fields, head_sha=head or self.head_sha, comments=list(self.notes.values()))


@dataclass(frozen=True)
class LocalPulls:
    """Find, open and change pulls by compare-and-swap; who loses a race looks again."""

    mirror: Mirror
    base: str
    project: str

    def find(self, branch: str) -> Pull | None:
        current, head = self._read(_of(branch), branch_ref(branch))
        return _record(current).told(head.sha if head else None) if current else None

    def open(self, branch: str, title: str, body: str) -> Pull:
        return _until_settled(lambda again: self._open(branch, title, body, again))

    def change(self, pull: Pull, edit: Callable[[PullRecord], PullRecord]) -> None:
        _until_settled(lambda _: self._change(pull, edit))

    def _open(self, branch: str, title: str, body: str, again: bool) -> Pull:
        current, head, last = self._read(_of(branch), branch_ref(branch), LAST)
        if head is None:
            raise LookupError(f"branch {branch} was not pushed, so it can have no pull")
        wanted = {"title": title, "body": body, "head_sha": head.sha}
        if current and _record(current).state == PullState.OPEN:
            return self._adopted(_record(current), wanted)
        if current and _record(current).state == PullState.MERGED and _record(current).merged_commit == head.sha:
            return _record(current).told(head.sha)  # a worker that wakes up late: its heir has merged exactly this
        number = _record(last).number + 1 if last else 1
        left, number = self._left_or_free(branch, number) if again else (None, number)
        if left:
            self._name(left.sha, branch, current, last)
            return _record(left).told(head.sha)
        url = f"local://{quote(self.project, safe='')}/pulls/{number}"
        record = PullRecord.model_validate({"number": number, "url": url, "head": branch, "base": self.base, **wanted})
        blob = self._write(record)
        self._name(blob, branch, current, last, RefMove(_number(number), blob, None))
        return record.told(head.sha)

    def _adopted(self, record: PullRecord, wanted: dict[str, str]) -> Pull:
        updated = record.model_copy(update=wanted)
        if updated != record:
            self._change(record, lambda was: was.model_copy(update=wanted))
        return updated.told(None)

    def _left_or_free(self, branch: str, number: int) -> tuple[GitObject | None, int]:
        """The open pull that a killed transaction left for this branch, or the next number that nobody took."""
        while (taken := self._read(_number(number))[0]) is not None:
            if _record(taken).head == branch and _record(taken).state == PullState.OPEN:
                return taken, number
            number += 1
        return None, number

    def _name(self, blob: Sha, branch: str, current: GitObject | None, last: GitObject | None, *taken: RefMove) -> None:
        of = RefMove(_of(branch), blob, current.sha if current else None)
        self.mirror.update_refs([*taken, of, RefMove(LAST, blob, last.sha if last else None)])

    def _change(self, pull: Pull, edit: Callable[[PullRecord], PullRecord]) -> None:
        one, current = self._read(_number(pull.number), _of(pull.head))
        was = {_number(pull.number): one}
        if current and _record(current).number == pull.number:
            was[_of(pull.head)] = current
        versions = [_record(found) for found in was.values() if found]
        if not versions:
            raise LookupError(f"there is no pull {pull.number}")
        newest = max(versions, key=lambda record: record.version)
        record = edit(newest)
        if record == newest and len(set(was.values())) == 1:
            return
        blob = self._write(record.model_copy(update={"version": newest.version + 1}))
        self.mirror.update_refs([RefMove(ref, blob, found.sha if found else None) for ref, found in was.items()])

    def _write(self, record: PullRecord) -> Sha:
        return self.mirror.write_blob(record.model_dump_json().encode())

    def _read(self, *refs: str) -> list[GitObject | None]:
        found = [self.mirror.resolve(ref) for ref in refs]
        return [self.mirror.objects.find([sha])[0] if sha else None for sha in found]


def _record(found: GitObject) -> PullRecord:
    return PullRecord.model_validate_json(found.data)


def _until_settled(attempt: Callable[[bool], T]) -> T:
    for n in range(TRIES):
        try:
            return attempt(n > 0)
        except Stale as err:
            lost = err
    raise lost


def branch_ref(branch: str) -> str:
    return f"refs/heads/{branch}"


def _of(branch: str) -> str:
    return f"refs/damascus/pull-of/{branch}"


def _number(number: int) -> str:
    return f"refs/damascus/pulls/{number}"
