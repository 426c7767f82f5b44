"""Who owns which file: what each landed story changed, by git's word (docs/impact.md).

Written by the settle that makes a story done (functions/settle_item.sql), so that nobody can forget it.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from damascus.domain.ids import StoryId
from damascus.domain.ports import Owner, Owners
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec, read_spec
from damascus.domain.storable import clean
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow


def owners_of(db: Database, repo: int, paths: Collection[str]) -> dict[str, list[Owner]]:
    """By path the landed stories that own it, the first one first; a path that nobody owns is left out."""
    rows = db.all("owners_of", repo=repo, paths=sorted({clean(path) for path in paths})) if paths else []
    whole = {owner.item: owner for owner in _owners(rows)}
    found: dict[str, list[Owner]] = {}
    for row in rows:
        found.setdefault(row["path"], []).append(whole[row["id"]])
    return found


def map_of(db: Database, repo: int) -> list[tuple[str, list[str]]]:
    """Every path that a story landed, sorted, with the ids of those that did."""
    return [(row["path"], list(row["stories"])) for row in db.all("owner_map", repo=repo)]


def files_of(db: Database, repo: int, stories: Iterable[str]) -> dict[str, list[str]]:
    """By story what it owns."""
    found: dict[str, list[str]] = {}
    for row in db.all("owned_by", repo=repo, names=[name.lower() for name in stories]):
        found.setdefault(row["story_id"], []).append(row["path"])
    return found


@dataclass(frozen=True)
class DeclaredScope:
    """What a story may write, by its own word."""

    story: str
    repo: int
    scope: Scope


def declared(db: Database, project: ProjectRow, stories: Iterable[str]) -> dict[str, DeclaredScope]:
    """By name in small letters; who is not there is left out."""
    rows = db.all("scopes_of", project=project.id, names=[name.lower() for name in stories])
    return {
        row["story_id"].lower(): DeclaredScope(row["story_id"], row["repo_id"], Scope(tuple(row["file_scope"])))
        for row in rows
    }


class KeptOwners(Owners):
    """Of one repository."""

    def __init__(self, db: Database, repo: int) -> None:
        self.db, self.repo = db, repo

    def of(self, paths: Collection[str]) -> list[Owner]:
        if not paths:
            return []
        return _owners(self.db.all("owners_of", repo=self.repo, paths=sorted({clean(path) for path in paths})))

    def every(self) -> list[Owner]:
        return _owners(self.db.all("owners_all", repo=self.repo))

    def kin(self, story: StoryId) -> list[Owner]:
        rows = self.db.all("kin_of", repo=self.repo, story=story)
        return [Owner(StoryId(row["story_id"]), row["id"], (), _spec(row)) for row in rows]


# ── up to which main it was looked at ─────────────────────────────────────────────────────────────────


@contextmanager
def looking(db: Database, repo: int) -> Iterator[bool]:
    """Whether nobody else looks at this main at the moment; then nobody else begins."""
    row = db.one("impact_alone", repo=repo)
    got = bool(row and row["got"])
    try:
        yield got
    finally:
        if got:
            db.do("impact_not_alone", repo=repo)


def looked_up_to(db: Database, repo: int) -> str | None:
    row = db.one("impact_known", repo=repo)
    return row["sha"] if row else None


def note_looked(db: Database, repo: int, sha: str) -> None:
    db.do("impact_note", repo=repo, sha=sha)


def landed_by_stories(db: Database, repo: int, commits: Collection[str]) -> dict[str, Spec | None]:
    """Which of these commits stories brought to main, each with the spec that it was built by."""
    rows = db.all("landed_commits", repo=repo, commits=list(commits)) if commits else []
    return {row["commit"]: _spec(row) for row in rows}


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────


def _owners(rows: list[Row]) -> list[Owner]:
    paths: dict[int, list[str]] = {}
    for row in rows:
        paths.setdefault(row["id"], []).append(row["path"])
    first = {row["id"]: row for row in reversed(rows)}
    return [
        Owner(StoryId(row["story_id"]), ident, tuple(paths[ident]), _spec(row)) for ident, row in sorted(first.items())
    ]


def _spec(row: Row) -> Spec | None:
    """As it was frozen. One that an older Damascus took and this one can't read promises nothing that could be run."""
    return read_spec(bytes(row["spec"]), row["spec_path"], rough=True)[0]
