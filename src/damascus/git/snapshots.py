"""What was in a workspace, kept: nothing that an agent wrote is lost (D4).

One ref per story, refs/damascus/snapshots/<story>, local: a chain of commits, newest at the tip. A snapshot's first
parent is the one before it, its last parent the commit that the story was based on, so that gc keeps both.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha, StoryId
from damascus.domain.ports import Stale
from damascus.git.contents import Contents, TreeWriter, Walk, base_rules, base_sizes
from damascus.git.mirror import Mirror, RefMove
from damascus.git.objects import Commit

PREFIX = "refs/damascus/snapshots/"
MARK = "Damascus-"
TRIES = 5
LISTED = 500


@dataclass(frozen=True)
class Snapshot:
    """One commit of a story's chain. `left_out` has a path and the reason each."""

    commit: Sha
    tree: Sha
    story: str
    run_no: int
    step: str
    fence: int
    left_out: tuple[str, ...]
    taken_at: datetime
    base: Sha


class Snapshots:
    """The snapshot chains of one project. `limit_mb` is for the ignored files of one snapshot together."""

    def __init__(self, mirror: Mirror, limit_mb: int = 50) -> None:
        self.mirror, self.limit_mb = mirror, limit_mb

    def save(self, folder: Path, story: StoryId, *, run_no: int, step: str, fence: int, base: Sha) -> Snapshot | None:
        if not folder.is_dir() or folder.is_symlink():
            return None
        tree, left_out = self._tree(folder, story, base)
        message = _message(story, {"Run": str(run_no), "Step": step, "Fence": str(fence), "Base": base}, left_out)
        for _ in range(TRIES):
            head = self.mirror.resolve(PREFIX + story)
            if head is not None and self.mirror.tree(head) == tree:
                return self._read(head)
            commit = self.mirror.commit_tree(tree, [head, base] if head else [base], message)
            try:
                self.mirror.update_refs([RefMove(PREFIX + story, commit, head)])
            except Stale:
                continue
            return self._read(commit)
        raise TransientError(f"the snapshots of {story} are being written by others")

    def _tree(self, folder: Path, story: StoryId, base: Sha) -> tuple[Sha, list[str]]:
        listing = self.mirror.listing(base)
        rules, sizes = base_rules(self.mirror, listing), base_sizes(self.mirror, listing)
        found = Walk(folder, listing, rules, into_ignored=True, base_size=sizes).contents()
        paths = [*found.counted, *self._affordable(found)]
        written = TreeWriter(self.mirror, folder, story, base).write(paths, found.as_base)
        return written.tree, sorted([*found.left_out, *(f"{path} (unreadable)" for path in written.unreadable)])

    def _affordable(self, found: Contents) -> Iterator[str]:
        """Ignored files, the small ones first, until the limit is reached."""
        room = self.limit_mb * 1_000_000
        for path, size in sorted(found.ignored, key=lambda row: (row[1], row[0])):
            room -= size
            if room >= 0:
                yield path
            else:
                found.left_out.append(f"{path} (ignored, {size / 1_000_000:.1f} MB)")

    def chain(self, story: StoryId) -> list[Snapshot]:
        """Newest first."""
        snapshots = []
        head = self.mirror.resolve(PREFIX + story)
        while head is not None:
            snapshots.append(self._read(head))
            parents = self.mirror.objects.commit(head).parents
            head = parents[0] if len(parents) > 1 else None
        return snapshots

    def stories(self) -> list[str]:
        return sorted(ref.removeprefix(PREFIX) for ref in self.mirror.for_each_ref(PREFIX))

    def restore(self, commit: Sha, to: Path) -> int:
        """The files of a snapshot in a new folder, and how many they are."""
        self.mirror.checkout(commit, to)
        return len(self.mirror.listing(commit).files)

    def _read(self, sha: Sha) -> Snapshot:
        commit = self.mirror.objects.commit(sha)
        rows = [
            line.removeprefix(MARK).partition(": ") for line in commit.message.splitlines() if line.startswith(MARK)
        ]
        said = {key: value for key, _, value in rows}
        left_out = tuple(json.loads(value) for key, _, value in rows if key == "Left-Out")
        return Snapshot(
            sha, commit.tree, said["Story"], int(said["Run"]), json.loads(said["Step"]), int(said["Fence"]),
            left_out, _moment(commit), Sha(said["Base"]),
        )  # fmt: skip


def _moment(commit: Commit) -> datetime:
    return datetime.fromtimestamp(int(commit.author.split(" ")[-2]), UTC)


def _message(story: StoryId, said: dict[str, str], left_out: list[str]) -> str:
    """Readable in `git log`; a path may hold any byte, so it is written as JSON."""
    said = said | {"Story": story, "Step": json.dumps(said["Step"])}
    lines = [f"snapshot of {story}, run {said['Run']}: {json.loads(said['Step'])}", ""]
    lines += [f"{MARK}{key}: {value}" for key, value in said.items()]
    lines += [f"{MARK}Left-Out: {json.dumps(item)}" for item in left_out[:LISTED]]
    if len(left_out) > LISTED:
        lines.append(f"{MARK}Left-Out: {json.dumps(f'… and {len(left_out) - LISTED} more')}")
    return "\n".join(lines) + "\n"
