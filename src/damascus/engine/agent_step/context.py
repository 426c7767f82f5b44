"""What surrounds a story and concerns whoever works on it: the queue, the code as it will be found, the last changes.

Read from the mirror's objects, without a checkout and without a git process.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha, short
from damascus.domain.scope import GLOB_CHARS, Scope
from damascus.engine.run import Run
from damascus.git.mirror import Mirror
from damascus.git.rebasing import merged_tree
from damascus.git.trees import FOLDER, REGULAR, TreeEntry
from damascus.stacks import is_test
from damascus.store.db import Row

COMMITS = 3
LOOK_BACK = 20
MOST_FILES = 2000
MOST_BYTES = 400_000
"""More than this is more than the hand-off holds, whatever it is."""
BINARY = 8000
STAT_LINES = 50


@dataclass(frozen=True)
class Queue:
    """What the queue knows: who else works, what the story builds on (nearest first), and what its place is worth."""

    parallel: tuple[str, ...] = ()
    chain: tuple[Row, ...] = ()
    critical: bool = False
    cross_repo: bool = False


def queue_facts(run: Run) -> Queue:
    item = run.item
    rows = run.tools.db.all("handoff_facts", item=item.id, project=item.project_id, repo=item.repo_id)
    whats = {row["what"] for row in rows}
    return Queue(
        parallel=tuple(row["story_id"] for row in rows if row["what"] == "parallel"),
        chain=tuple(row for row in rows if row["what"] == "chain"),
        critical="critical" in whats,
        cross_repo="edges" in whats,
    )


# ── the code ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Files:
    """The files in scope as sections, and the names of those that were not read."""

    sections: tuple[HandoffSection, ...] = ()
    unread: tuple[str, ...] = ()


def starting_tree(mirror: Mirror, base: Sha, start: str | None, was: str | None) -> Sha:
    """What a workspace holds that goes on with the work so far, made on `was`: as Workspaces.recreate lays it out."""
    if start is None:
        return mirror.tree(base)
    return merged_tree(mirror.objects, Sha(start), Sha(was), base) if was and was != base else Sha(start)


def work_so_far(mirror: Mirror, base: Sha, tree: Sha, scope: Scope) -> str:
    """One line per file that differs from the base: what became of it, and its lines before and after."""
    words = {"A": "new", "M": "changed", "D": "deleted", "T": "another kind of file"}
    changed = [file for file in mirror.changed(base, tree) if scope.allows(file.path)]
    lines = []
    for file in changed[:STAT_LINES]:
        before, after = (_lines(mirror, treeish, file.path) for treeish in (base, tree))
        lines.append(f"- {file.path}: {words[file.status]}, {before} lines before, {after} now")
    more = [f"- and {len(changed) - STAT_LINES} more"] if len(changed) > STAT_LINES else []
    return "\n".join(lines + more)


def _lines(mirror: Mirror, treeish: Sha, path: str) -> int:
    return (mirror.read(treeish, path) or b"").count(b"\n")


def files_in_scope(mirror: Mirror, tree: Sha, scope: Scope, patterns: Sequence[str] = ()) -> Files:
    """Code first, then tests, each in the order of their paths."""
    entries = dict(scoped(mirror, tree, scope))
    order = sorted((is_test(path, patterns), path) for path in entries)
    return _read(mirror, [(path, entries[path].sha, test) for test, path in order])


def _read(mirror: Mirror, files: Sequence[tuple[str, Sha, bool]]) -> Files:
    sections, unread, read = [], [], 0
    for path, sha, test in files:
        found = mirror.objects.find([sha])[0] if read <= MOST_BYTES else None
        if found is None or b"\0" in found.data[:BINARY]:
            unread.append(path)
            continue
        data = found.data[:MOST_BYTES]
        read += len(data) if len(data) < MOST_BYTES else 0
        text = data.decode("utf-8", errors="replace")
        sections.append(HandoffSection(Priority.TESTS if test else Priority.CODE, path, text, quoted=True))
    return Files(tuple(sections), tuple(unread))


def scoped(mirror: Mirror, treeish: Sha, scope: Scope) -> Iterator[tuple[str, TreeEntry]]:
    """The regular files of a tree that a scope names or covers, at most so many."""
    left = MOST_FILES
    for pattern in scope.patterns:
        for path, entry in _below(mirror, treeish, _static(pattern)):
            if left == 0:
                return
            if entry.mode in REGULAR and scope.allows(path):
                left -= 1
                yield path, entry


def _static(pattern: str) -> str:
    """The path that a pattern names, or the folder in which all that it can match lies."""
    glob = GLOB_CHARS.search(pattern)
    return pattern.rstrip("/") if glob is None else pattern[: glob.start()].rpartition("/")[0]


def _below(mirror: Mirror, treeish: Sha, path: str) -> Iterator[tuple[str, TreeEntry]]:
    folder, _, name = path.rpartition("/")
    entry: TreeEntry | None = TreeEntry(FOLDER, mirror.objects.tree_of(treeish))
    for part in [*folder.split("/"), name] if path else []:
        if part and entry is not None:
            entry = mirror.objects.folder_at(entry.sha).get(part) if entry.mode == FOLDER else None
    if entry is not None:
        yield from _walk(mirror, path, entry)


def _walk(mirror: Mirror, path: str, entry: TreeEntry) -> Iterator[tuple[str, TreeEntry]]:
    if entry.mode != FOLDER:
        yield path, entry
        return
    for name, below in sorted(mirror.objects.folder_at(entry.sha).items()):
        yield from _walk(mirror, f"{path}/{name}" if path else name, below)


# ── the last changes ──────────────────────────────────────────────────────────────────────────────────


def recent_changes(mirror: Mirror, base: Sha, scope: Scope, chain: Sequence[Row]) -> list[str]:
    """The last three commits of the stories that this one builds on; then those on main that touched the scope."""
    known = [row["commit"] for row in chain if row["commit"]][:COMMITS]
    told = [f"{short(row['commit'])} {row['story_id']}: {row['title']}" for row in chain if row["commit"]][:COMMITS]
    for commit, subject in _touching(mirror, base, scope):
        if len(told) >= COMMITS:
            break
        if commit not in known:
            told.append(f"{short(commit)} {subject}")
    return told


def _touching(mirror: Mirror, base: Sha, scope: Scope) -> Iterator[tuple[Sha, str]]:
    """Newest first, along first parents, not far back: this is a hint, not an archive."""
    commit: Sha | None = base
    for _ in range(LOOK_BACK):
        if commit is None:
            return
        try:
            found = mirror.objects.commit(commit)
            above = found.parents[0] if found.parents else None
            before = mirror.objects.tree_of(above) if above else None
        except KeyError:
            return
        if _touches(mirror, before, found.tree, scope):
            yield commit, found.message.split("\n", 1)[0]
        commit = above


def _touches(mirror: Mirror, before: Sha | None, tree: Sha, scope: Scope) -> bool:
    if before is None:
        return any(scoped(mirror, tree, scope))
    return any(scope.allows(file.path) for file in mirror.changed(before, tree))
