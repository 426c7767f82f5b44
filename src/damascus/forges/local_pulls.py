"""Pulls of the local forge: JSON blobs in the mirror, one ref per number and one per branch.

`refs/damascus/pulls/<n>` is the pull, its number taken by creating that ref. `refs/damascus/pull-of/<branch>` is the
branch's current pull; both are made in one transaction with `refs/damascus/last-pull`, so that of any number of
workers exactly one opens it and the others find it. Reading all three is one git process, opening a pull one more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from pydantic import Field

from damascus.domain.ids import Sha
from damascus.domain.ports import Pull, Stale
from damascus.git.mirror import Mirror, RefMove
from damascus.git.objects import Found

T = TypeVar("T")
LAST = "refs/damascus/last-pull"
TRIES = 100


class Record(Pull):
    """A pull as it is stored. `notes` are its comments by key, so that none is written twice."""

    notes: dict[str, str] = Field(default_factory=dict)

    def told(self, head: Sha | None) -> Pull:
        fields = self.model_dump(exclude={"notes", "comments", "head_sha"})
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
        return _until_settled(lambda: self._open(branch, title, body))

    def change(self, pull: Pull, edit: Callable[[Record], Record]) -> None:
        _until_settled(lambda: self._change(pull, edit))

    def _open(self, branch: str, title: str, body: str) -> Pull:
        current, head, last = self._read(_of(branch), branch_ref(branch), LAST)
        if head is None:
            raise LookupError(f"branch {branch} was not pushed, so it can have no pull")
        if current and _record(current).state == "open":
            record = _record(current).model_copy(update={"title": title, "body": body, "head_sha": head.sha})
            self._store(record, current, [_number(record.number), _of(branch)])
            return record.told(head.sha)
        number = _record(last).number + 1 if last else 1
        url = f"local://{quote(self.project, safe='')}/pulls/{number}"
        record = Record(
            number=number, url=url, head=branch, base=self.base, head_sha=head.sha, title=title, body=body
        )  # fmt: skip
        self._create(record, current, last)
        return record.told(head.sha)

    def _create(self, record: Record, current: Found | None, last: Found | None) -> None:
        blob = self._write(record)
        self.mirror.update_refs(
            [
                RefMove(_number(record.number), blob, None),
                RefMove(_of(record.head), blob, current.sha if current else None),
                RefMove(LAST, blob, last.sha if last else None),
            ]
        )

    def _change(self, pull: Pull, edit: Callable[[Record], Record]) -> None:
        one, current = self._read(_number(pull.number), _of(pull.head))
        if one is None:
            raise LookupError(f"there is no pull {pull.number}")
        refs = [_number(pull.number), _of(pull.head)] if current == one else [_number(pull.number)]
        self._store(edit(_record(one)), one, refs)

    def _store(self, record: Record, was: Found, refs: list[str]) -> None:
        if record != _record(was):
            blob = self._write(record)
            self.mirror.update_refs([RefMove(ref, blob, was.sha) for ref in refs])

    def _write(self, record: Record) -> Sha:
        return self.mirror.write_blob(record.model_dump_json().encode())

    def _read(self, *refs: str) -> list[Found | None]:
        return self.mirror.objects.find(refs)


def _record(found: Found) -> Record:
    return Record.model_validate_json(found.data)


def _until_settled(attempt: Callable[[], T]) -> T:
    for _ in range(TRIES):
        try:
            return attempt()
        except Stale as err:
            lost = err
    raise lost


def branch_ref(branch: str) -> str:
    return f"refs/heads/{branch}"


def _of(branch: str) -> str:
    return f"refs/damascus/pull-of/{branch}"


def _number(number: int) -> str:
    return f"refs/damascus/pulls/{number}"
