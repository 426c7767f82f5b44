"""Which project of a tree a file belongs to: the one whose own file (package.json, go.mod) lies nearest above it."""

from collections.abc import Collection, Sequence


def nearest(files: Sequence[str], listing: Collection[str], names: Sequence[str]) -> dict[str, list[str]]:
    """By folder the files that belong to it; "" is the top, also where nothing above a file says otherwise."""
    found: dict[str, list[str]] = {}
    for path in files:
        found.setdefault(_folder(path, listing, names), []).append(path)
    return found


def _folder(path: str, listing: Collection[str], names: Sequence[str]) -> str:
    folder = path.rpartition("/")[0]
    while folder and not any(f"{folder}/{name}" in listing for name in names):
        folder = folder.rpartition("/")[0]
    return folder


def inside(path: str, folder: str) -> str:
    """As it is called from there."""
    return path[len(folder) + 1 :] if folder else path
