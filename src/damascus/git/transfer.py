"""A few commits handed from the stories' store to the user's repository or the mirror, object by object.

A fetch does it with five processes while every other story waits to land; what a story changed is a handful of
objects. Whatever is not that simple is left to a fetch.
"""

from collections.abc import Iterator
from itertools import pairwise

from damascus.domain.ids import Sha
from damascus.git.objects import Objects
from damascus.git.trees import FOLDER, GITLINK

FEW_COMMITS = 5
FEW_OBJECTS = 200


def hand_over(source: Objects, target: Objects, old: Sha | None, new: Sha, *, durable: bool = True) -> bool:
    """Write what `new` needs beyond `old` (None: beyond nothing), the commit last. False: not that simple, nothing was
    written."""
    try:
        wanted = list(needed(source, old, new))
    except (KeyError, OverflowError):
        return False
    found = source.find(wanted)
    if any(each is None for each in found):
        return False
    for each in found:
        assert each is not None
        target.write(each.kind, each.data, durable=durable)
    return True


def needed(source: Objects, old: Sha | None, new: Sha, most: int = FEW_OBJECTS) -> Iterator[Sha]:
    """Object ids in an order in which nothing is written before what it names."""
    if old is None:
        if source.commit(new).parents:
            raise OverflowError
        yield from (*_below(source, None, source.tree_of(new)), new)
        return
    line = [new]
    while line[-1] != old:
        parents = source.commit(line[-1]).parents
        if len(parents) != 1 or len(line) > FEW_COMMITS:
            raise OverflowError
        line.append(parents[0])
    count = 0
    for commit, before in reversed(list(pairwise(line))):
        for sha in (*_below(source, source.tree_of(before), source.tree_of(commit)), commit):
            count += 1
            if count > most:
                raise OverflowError
            yield sha


def _below(source: Objects, old: Sha | None, new: Sha) -> Iterator[Sha]:
    if old == new:
        return
    before = source.folder_at(old) if old is not None else {}
    for name, entry in source.folder_at(new).items():
        was = before.get(name)
        if was == entry or entry.mode == GITLINK:
            continue
        if entry.mode == FOLDER:
            yield from _below(source, was.sha if was is not None and was.mode == FOLDER else None, entry.sha)
        else:
            yield entry.sha
    yield new
