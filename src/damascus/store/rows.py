"""Rows become typed values here and nowhere else.

An item's columns are the fields of `domain/item.py`, by name: a column that the engine wants to read is a field
there, and its type says how it is read.
"""

from collections.abc import Callable
from types import NoneType
from typing import Any, get_args, get_type_hints

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Fence, Sha, StoryId
from damascus.domain.item import Item
from damascus.domain.verdict import Milestone, Phase, Verdict
from damascus.store.db import Row

READERS: dict[Any, Callable[[Any], Any]] = {
    StoryId: StoryId, Fence: Fence, Sha: Sha, Phase: Phase, Verdict: Verdict, Milestone: Milestone, bytes: bytes,
    tuple[str, ...]: tuple, VerdictFeedback: VerdictFeedback.model_validate,
}  # fmt: skip


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """Of a field's type without its None. None: the driver's value is one already."""
    named = [one for one in get_args(hint) if one is not NoneType] if NoneType in get_args(hint) else [hint]
    return READERS.get(named[0])


COLUMNS = {name: _reader(hint) for name, hint in get_type_hints(Item).items()}


def item(row: Row) -> Item:
    values = {name: row[name] for name in COLUMNS}
    for name, read in COLUMNS.items():
        if read is not None and values[name] is not None:
            values[name] = read(values[name])
    return Item(**values)
