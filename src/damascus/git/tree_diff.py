"""What differs between two trees, by comparing only the folders that differ. Renames are a deletion and an addition."""

from collections.abc import Callable, Iterable, Iterator

from damascus.domain.ids import Sha
from damascus.domain.ports import ChangedFile
from damascus.git.trees import FOLDER, GITLINK, REGULAR, TreeEntry

Folder = dict[str, TreeEntry]
GONE = "000000"


def changed_files(read: Callable[[Sha], Folder], old: Sha, new: Sha) -> tuple[ChangedFile, ...]:
    """`read` gives a tree's entries by its id."""
    found = sorted(_walk(read, (old, new), ""), key=lambda file: file.path)
    return tuple(found)


def only_came_or_changed(files: Iterable[ChangedFile]) -> bool:
    """Files that came or were written anew, nothing that went or is another kind of thing: no half of a rename."""
    return all(file.status in "AM" and file.mode != GITLINK for file in files)


def _walk(read: Callable[[Sha], Folder], trees: tuple[Sha | None, Sha | None], prefix: str) -> Iterator[ChangedFile]:
    before, after = (read(tree) if tree is not None else {} for tree in trees)
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        path = prefix + name
        folders = tuple(entry.sha if entry is not None and entry.mode == FOLDER else None for entry in (was, now))
        if any(folders):
            yield from _walk(read, (folders[0], folders[1]), f"{path}/")
        yield from _file(path, was, now)


def _file(path: str, was: TreeEntry | None, now: TreeEntry | None) -> Iterator[ChangedFile]:
    here = was is not None and was.mode != FOLDER
    there = now is not None and now.mode != FOLDER
    if here and there:
        assert was is not None and now is not None
        same_kind = was.mode == now.mode or (was.mode in REGULAR and now.mode in REGULAR)
        yield ChangedFile(path=path, status="M" if same_kind else "T", mode=now.mode)
    elif there:
        assert now is not None
        yield ChangedFile(path=path, status="A", mode=now.mode)
    elif here:
        yield ChangedFile(path=path, status="D", mode=GONE)
