"""Whatever an agent wrote can be listed and restored (X2)."""

from dataclasses import dataclass
from pathlib import Path

from damascus.app import Project
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import StoryId
from damascus.git.snapshots import Snapshot, Snapshots
from damascus.people.acts import Done
from damascus.store import views
from damascus.store.db import Database


@dataclass(frozen=True)
class Kept:
    """A snapshot of a story's workspace, by its number: 1 is the story's newest."""

    story: str
    number: int
    snapshot: Snapshot

    @property
    def moment(self) -> str:
        return moment_of(self.snapshot)


@dataclass(frozen=True)
class Listing:
    """The snapshots of a story, or of all where `story` is None, the newest first."""

    story: str | None
    kept: tuple[Kept, ...]


@dataclass(frozen=True)
class Restored(Done):
    """The story, the folder and how many files are in it; what the snapshot had left out when it was taken."""

    story: str
    folder: Path
    files: int
    left_out: tuple[str, ...]


def listing(db: Database, project: Project, story: str | None = None) -> Listing:
    name = views.story_row(db, project.row, story).story_id if story else None
    stories = [name] if name else Snapshots(project.mirror).stories()
    found = [kept for each in stories for kept in _chain(project, each)]
    found.sort(key=lambda kept: (kept.snapshot.taken_at, -kept.number), reverse=True)
    return Listing(name, tuple(found))


def picked(db: Database, project: Project, story: str, number: int) -> Kept:
    """The snapshot of the story with that number."""
    name = views.story_row(db, project.row, story).story_id
    chain = _chain(project, name)
    if not 1 <= number <= len(chain):
        had = f"{len(chain)} snapshots" if chain else "no snapshots"
        raise DamascusError(f"{name} has {had}, so there is no number {number}. See them: damascus rescue list {name}")
    return chain[number - 1]


def in_repository(project: Project, folder: Path) -> bool:
    """The repository is the person's: nothing new appears in it unasked."""
    return folder.resolve().is_relative_to(project.repository.top.resolve())


def refuse_taken(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DamascusError(
            f"{folder} exists and is not an empty folder. Name a new one with --to. Nothing was changed."
        )


def restore(project: Project, kept: Kept, folder: Path, *, agreed: bool = False) -> Restored:
    """Its files in a new folder. `agreed`: the person has said that it may lie in the repository."""
    refuse_taken(folder)
    if not agreed and in_repository(project, folder):
        raise UsageError(
            f"{folder} is inside your repository. Use --yes to write there, or name a folder elsewhere with --to. "
            "Nothing was changed."
        )
    snapshot = kept.snapshot
    files = Snapshots(project.mirror).restore(snapshot.commit, folder)
    said = [f"{files:,} files of {kept.story}, {kept.moment}, are in {folder}"]
    said += [f"  left out then: {line}" for line in snapshot.left_out]
    following = f"damascus show {kept.story}"
    return Restored("\n".join(said), following, kept.story, folder, files, snapshot.left_out)


def moment_of(snapshot: Snapshot) -> str:
    """What lies in it, by whom it was written."""
    run = snapshot.run_no
    known = {
        "left": f"what run {run} left",
        "resume": f"what run {run} left when its worker stopped",
        "reap": f"what was there when run {run} was over",
        "prepare": f"what was there before run {run}",
    }
    return known.get(snapshot.step, f"after {snapshot.step} of run {run}")


def _chain(project: Project, story: str) -> list[Kept]:
    return [Kept(story, n, each) for n, each in enumerate(Snapshots(project.mirror).chain(StoryId(story)), 1)]
