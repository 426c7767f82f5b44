"""What an import would do: which story each record is, what it waits for, and whether it is new, changed or over.

Everything follows from the source and the queue: the same source again is the same plan, with nothing in it to do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from damascus.domain.described import Described
from damascus.domain.ids import StoryId
from damascus.domain.verdict import Phase
from damascus.tasks.importers.record import Imported
from damascus.tasks.importers.story_specs import source_of, story_names


class Fate(Described):
    """What becomes of a story of the source."""

    NEW = "new", "it is queued"
    CHANGED = "changed", "the source was edited before it began: its spec is replaced"
    LEFT = "left", "the source was edited after it began: nothing is changed"
    UNCHANGED = "unchanged", "it was imported before"
    DONE = "done", "it is done in the source already: it is not queued"
    SKIPPED = "skipped", "it is not queued, for the reason told"
    GONE = "gone", "it was imported before, and the source has it no more"


@dataclass(frozen=True)
class KnownImport:
    """A story of the queue that was imported before."""

    story: StoryId
    source: str
    phase: str
    begun: bool
    mark: str
    """What its source said then, as a sum."""
    spec: bytes = field(default=b"", repr=False)
    path: str = ""
    added: str = ""
    """The sum of the spec that was added."""
    commit: str = ""
    """On main."""


@dataclass(frozen=True)
class Decided:
    """A record, its story and what becomes of it."""

    one: Imported
    story: StoryId
    depends_on: tuple[StoryId, ...]
    fate: Fate
    known: KnownImport | None = None
    why: str = ""


@dataclass(frozen=True)
class ImportedBefore:
    """What is there already: every id in use, and what was imported before by its source."""

    names: frozenset[str]
    imported: Mapping[str, KnownImport]


def decided(kind: str, records: Sequence[Imported], queue: ImportedBefore) -> list[Decided]:
    named = _named(kind, records, queue)
    by_ref = {one.ref.lower(): one for one in records}
    skipped = _skipped(records, by_ref)
    return [_decided(kind, _with_lost(one, by_ref), named, (by_ref, skipped), queue) for one in records]


def gone(kind: str, records: Sequence[Imported], files: Sequence[str], queue: ImportedBefore) -> list[KnownImport]:
    """What came from these files and stands in none of them any more."""
    there = {source_of(kind, one).lower() for one in records}
    ours = tuple(f"{kind} {name}#".lower() for name in files)
    return [one for told, one in queue.imported.items() if told.startswith(ours) and told not in there]


def _named(kind: str, records: Sequence[Imported], queue: ImportedBefore) -> dict[str, StoryId]:
    taken = set(queue.names)
    names: dict[str, StoryId] = {}
    for one in records:
        known = queue.imported.get(source_of(kind, one).lower())
        plain, marked = story_names(kind, one)
        name = known.story if known else marked if plain.lower() in taken else plain
        names[one.ref.lower()] = name
        taken.add(name.lower())
    return names


def _skipped(records: Sequence[Imported], by_ref: Mapping[str, Imported]) -> dict[str, str]:
    """Who is not queued, and whoever waits for one that is not."""
    why = {one.ref.lower(): one.skipped for one in records if one.skipped and not one.done}
    waiting = list(why)
    followers: dict[str, list[Imported]] = {}
    for one in records:
        for need in one.depends_on:
            followers.setdefault(need.lower(), []).append(one)
    while waiting:
        ref = waiting.pop()
        for one in followers.get(ref, []):
            if one.ref.lower() not in why and not one.done:
                why[one.ref.lower()] = f"it waits for {by_ref[ref].key}, which is not queued"
                waiting.append(one.ref.lower())
    return why


def _with_lost(one: Imported, by_ref: Mapping[str, Imported]) -> Imported:
    lost = [need.rpartition("#")[2] for need in one.depends_on if need.lower() not in by_ref]
    return replace(one, lacks=(*one.lacks, *(f"{key or 'a task'}, on which it depends" for key in lost)))


def _decided(
    kind: str,
    one: Imported,
    named: Mapping[str, StoryId],
    others: tuple[Mapping[str, Imported], Mapping[str, str]],
    queue: ImportedBefore,
) -> Decided:
    by_ref, skipped = others
    known = queue.imported.get(source_of(kind, one).lower())
    needs = tuple(dict.fromkeys(_needs(kind, one, named, by_ref, queue)))
    fate, why = _fate(one, known, skipped.get(one.ref.lower(), ""))
    return Decided(one, named[one.ref.lower()], needs, fate, known, why)


def _needs(
    kind: str, one: Imported, named: Mapping[str, StoryId], by_ref: Mapping[str, Imported], queue: ImportedBefore
) -> Iterator[StoryId]:
    """What was done before anything was imported is waited for by nobody."""
    for need in one.depends_on:
        other = by_ref.get(need.lower())
        if other is not None and (not other.done or source_of(kind, other).lower() in queue.imported):
            yield named[need.lower()]


def _fate(one: Imported, known: KnownImport | None, skipped: str) -> tuple[Fate, str]:
    if known is None:
        fate = Fate.DONE if one.done else Fate.SKIPPED if skipped else Fate.NEW
        return fate, skipped if fate is Fate.SKIPPED else ""
    if one.done and known.phase not in (Phase.DONE, Phase.CANCELLED):
        return (
            Fate.UNCHANGED,
            f"it is ticked in the source and in phase {known.phase} here: damascus show {known.story}",
        )
    if known.mark == one.mark or one.done:
        return Fate.UNCHANGED, ""
    if known.begun:
        again = (
            f"; to have it built anew: damascus change {known.story} --why TEXT" if known.phase == Phase.DONE else ""
        )
        return Fate.LEFT, f"it has begun (phase {known.phase}), so it is left as it is{again}"
    return Fate.CHANGED, ""
