"""Kiro and cc-sdd: `.kiro/specs/<feature>/tasks.md` with its `requirements.md`. Each task without parts of its own is
one story; what is marked `*` is optional and left out.

A task waits for all before it; one that is marked `(P)` does not wait for its neighbours that are. `_Depends: 1.2_`
says it in so many words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from damascus.tasks.importers import boxes
from damascus.tasks.importers.boxes import BoxLine, lines
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Box, Files, Imported, Ticked, line, text_of, unique

TASK = re.compile(r"(?P<id>\d{1,4}(?:\.\d{1,4}){0,3})\.?[ \t]+(?P<text>\S.*)")
PARALLEL = re.compile(r"[ \t]*\(P\)[ \t]*$")
NOTE = re.compile(
    r"[ \t]{0,40}[-*+][ \t]+_(Requirements|Depends|Depends on|Boundary):[ \t]*([^_\n]{1,1000})_?.*", re.IGNORECASE
)
IDS = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,3}")
REQUIREMENT = re.compile(r"Requirement[ \t]+(\d{1,4})\b.*", re.IGNORECASE)
CRITERION = re.compile(r"[ \t]{0,12}(\d{1,4})[.)][ \t]+(\S.*)")


@dataclass
class _KiroTask:
    """A box with what stands below it."""

    box: Box
    done: bool
    optional: bool
    parallel: bool
    words: list[str] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)


def read(files: Files) -> list[Imported]:
    names = [name for name in files if name.rpartition("/")[2] == "tasks.md"]
    return unique([one for name in names for one in _feature(files, name)])


def ticked(raw: bytes, wanted: Sequence[Box]) -> Ticked:
    """A task with parts is ticked with the last of them."""
    told = boxes.ticked(raw, wanted, naming)
    tasks = _tasks(told.raw.decode("utf-8", errors="replace"))
    over = [
        one.box for one in tasks if not one.done and (parts := _parts(one, tasks)) and all(each.done for each in parts)
    ]
    ours = {box.id.rpartition(".")[0] for box in wanted}
    wholes = boxes.ticked(told.raw, [box for box in over if box.id in ours], naming)
    return Ticked(wholes.raw, told.left)


def naming(each: BoxLine) -> Box | None:
    found = TASK.fullmatch(each.rest)
    return Box(found["id"], line(PARALLEL.sub("", found["text"]))) if found else None


def _parts(one: _KiroTask, tasks: Sequence[_KiroTask]) -> list[_KiroTask]:
    return [each for each in tasks if each.box.id.startswith(f"{one.box.id}.") and not each.optional]


def _tasks(text: str) -> list[_KiroTask]:
    found: list[_KiroTask] = []
    for each in lines(text):
        if each.box is not None and (box := naming(each)) is not None:
            parallel = bool(PARALLEL.search(each.rest))
            found.append(_KiroTask(box, each.done, each.optional, parallel))
        elif found and (note := NOTE.fullmatch(each.text)):
            found[-1].notes.setdefault(note[1].lower().removesuffix(" on"), []).extend(IDS.findall(note[2]))
        elif found and not each.level and line(each.text):
            found[-1].words.append(line(each.text))
    return found


def _feature(files: Files, name: str) -> Iterator[Imported]:
    folder = name.rpartition("/")[0]
    tasks = _tasks(text_of(files, name))
    leaves = [one for one in tasks if not _has_parts(one, tasks)]
    needs = _needs([one for one in leaves if not one.optional])
    known = _criteria(text_of(files, f"{folder}/requirements.md"))
    short = folder.rpartition("/")[2] or "spec"
    for one in leaves:
        above = next((each.box.text for each in tasks if one.box.id.rpartition(".")[0] == each.box.id), "")
        yield _imported(one, (name, short, above), needs.get(one.box.id, []), known)


def _has_parts(one: _KiroTask, tasks: Sequence[_KiroTask]) -> bool:
    return any(each.box.id.startswith(f"{one.box.id}.") for each in tasks)


def _imported(one: _KiroTask, where: tuple[str, str, str], needs: list[str], known: dict[str, list[str]]) -> Imported:
    name, short, above = where
    told = [text for ident in one.notes.get("requirements", []) for text in known.get(ident, [])]
    words = "\n".join([one.box.text, *one.words])
    return Imported(
        file=name,
        key=one.box.id,
        name=f"{short}.{one.box.id.replace('.', '-')}",
        title=line(one.box.text, 200),
        body="\n".join(part for part in (f"Part of: {above}" if above else "", words) if part),
        criteria=tuple(dict.fromkeys(told)),
        scope=tuple(paths_in(words)),
        depends_on=tuple(f"{name}#{ident}" for ident in needs if ident != one.box.id),
        done=one.done,
        skipped="optional in the source" if one.optional else "",
        boxes=(one.box,),
    )


def _needs(leaves: list[_KiroTask]) -> dict[str, list[str]]:
    """By the words of each and by the order, which gives way where the words say the contrary."""
    said = {one.box.id: _said(one, leaves) for one in leaves}
    order: dict[str, list[str]] = {}
    barrier, side = list[str](), list[str]()
    for one in leaves:
        if one.parallel:
            order[one.box.id] = [] if said[one.box.id] else list(barrier)
            side.append(one.box.id)
        else:
            order[one.box.id] = side or barrier
            barrier, side = [one.box.id], []
    return {one.box.id: [*said[one.box.id], *_in_order(one.box.id, order, said)] for one in leaves}


def _said(one: _KiroTask, leaves: list[_KiroTask]) -> list[str]:
    return list(dict.fromkeys(leaf for ident in one.notes.get("depends", []) for leaf in _meant(ident, leaves)))


def _in_order(ident: str, order: dict[str, list[str]], said: dict[str, list[str]]) -> list[str]:
    """Those before it; in the place of one that waits for this very task by its words, those before that."""
    found: dict[str, None] = {}
    waiting, looked = list(order[ident]), {ident}
    while waiting:
        each = waiting.pop(0)
        if each in looked:
            continue
        looked.add(each)
        if _waits_for(each, ident, said):
            waiting += order[each]
        else:
            found[each] = None
    return list(found)


def _waits_for(each: str, other: str, said: dict[str, list[str]]) -> bool:
    waiting, looked = list(said[each]), set[str]()
    while waiting:
        now = waiting.pop()
        if now == other:
            return True
        if now not in looked:
            looked.add(now)
            waiting += said.get(now, [])
    return False


def _meant(ident: str, leaves: list[_KiroTask]) -> list[str]:
    """A whole stands for all its parts."""
    return [one.box.id for one in leaves if one.box.id == ident or one.box.id.startswith(f"{ident}.")]


def _criteria(text: str) -> dict[str, list[str]]:
    """By number: 1.2 is the second of requirement 1, and 1 is all of them."""
    found: dict[str, list[str]] = {}
    requirement = ""
    for each in lines(text):
        if each.level:
            told = REQUIREMENT.search(each.heading)
            requirement = told[1] if told else requirement if each.level > 3 else ""
        elif requirement and (item := CRITERION.fullmatch(each.text)):
            words = line(item[2].replace("**", ""))
            for ident in (f"{requirement}.{item[1]}", requirement):
                found.setdefault(ident, []).append(words)
    return found
