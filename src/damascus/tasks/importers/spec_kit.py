"""Spec Kit: `specs/NNN-name/tasks.md` with its `spec.md`. A user story's phase is one story, not each T-line: those are
too small to be red and green by themselves. What stands in no user story (set-up, foundation, polish) is one per phase.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from damascus.tasks.importers import boxes
from damascus.tasks.importers.boxes import BoxLine, lines
from damascus.tasks.importers.feature_specs import SpecKitFeature, feature_of
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Box, Files, Imported, Ticked, line, text_of, unique

TASK = re.compile(r"(?P<id>T\d{1,9}[a-z]?)(?P<marks>(?:[ \t]{1,4}\[[^\]\[]{1,40}\]){0,6})[:.]?[ \t]{1,4}(?P<text>\S.*)")
STORY = re.compile(r"\[US(\d{1,6})\]", re.IGNORECASE)
PHASE = re.compile(r"Phase[ \t]+(\w{1,10})[:.]?[ \t]*(.*)", re.IGNORECASE)
USER_STORY = re.compile(r"User Story[ \t]+(\d{1,6})[ \t]*(?:[-–—:][ \t]*)?(.*)", re.IGNORECASE)
PRIORITY = re.compile(r"\(Priority:[ \t]*P(\d)\).*", re.IGNORECASE)
NEEDS = re.compile(r"depends on ([^()\n]{1,300})", re.IGNORECASE)
IDS = re.compile(r"\bT\d{1,9}[a-z]?\b|\bUS\d{1,6}\b")
TEST = re.compile(r"\*\*Independent Test\*\*:?[ \t]*(.*)")


@dataclass
class _PhaseGroup:
    """What becomes one story: the lines of a phase or of a user story."""

    key: str
    title: str
    story: int = 0
    """The user story's number; 0 for a phase of none."""
    tasks: list[BoxLine] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    priority: int = 2


def read(files: Files) -> list[Imported]:
    found: list[Imported] = []
    for name in files:
        if name.rpartition("/")[2] == "tasks.md":
            found += _feature(files, name)
    return unique(found)


def ticked(raw: bytes, wanted: Sequence[Box]) -> Ticked:
    return boxes.ticked(raw, wanted, naming)


def naming(each: BoxLine) -> Box | None:
    found = TASK.fullmatch(each.rest)
    return Box(found["id"].upper(), line(found["text"])) if found else None


def _feature(files: Files, name: str) -> Iterator[Imported]:
    folder = name.rpartition("/")[0]
    groups = _grouped(text_of(files, name))
    _order(groups)
    feature = feature_of(text_of(files, f"{folder}/spec.md"))
    shares = feature.shared({one.key: (one.story, _text(one)) for one in groups})
    short = folder.rpartition("/")[2] or "spec"
    for one in groups:
        yield _imported(one, (name, short), feature, shares.of(one.key))


def _imported(
    one: _PhaseGroup, where: tuple[str, str], feature: SpecKitFeature, share: tuple[list[str], list[str], list[str]]
) -> Imported:
    criteria, questions, lacks = share
    name, short = where
    named = {box.id: box for each in one.tasks if (box := naming(each)) is not None}
    title = one.title if one.story else f"{feature.title or short}: {one.title}"
    plan = next((found[1] for words in one.words if (found := TEST.match(words))), "")
    steps = "\n".join(f"- {box.id} {box.text}" for box in named.values())
    return Imported(
        file=name,
        key=one.key,
        name=f"{short}.{one.key}",
        title=line(title, 200),
        body="\n\n".join(part for part in (feature.story_text(one.story), "\n".join(one.words), steps) if part),
        criteria=tuple(criteria),
        scope=tuple(dict.fromkeys(path for box in named.values() for path in paths_in(box.text))),
        depends_on=tuple(f"{name}#{key}" for key in dict.fromkeys(one.after) if key != one.key),
        done=_done(one),
        plan=line(plan.replace("**", "")),
        questions=tuple(questions),
        lacks=tuple(lacks),
        boxes=tuple(named.values()),
        priority=min(feature.priorities.get(one.story, one.priority), 3),
    )


def _done(one: _PhaseGroup) -> bool:
    return all(each.done for each in one.tasks)


def _text(one: _PhaseGroup) -> str:
    return "\n".join([*(each.rest for each in one.tasks), *one.words])


def _grouped(text: str) -> list[_PhaseGroup]:
    """In the order of the file. A line with a user story's label belongs to that one, wherever it stands."""
    groups: dict[str, _PhaseGroup] = {}
    current = _PhaseGroup("tasks", "Tasks")
    for each in lines(text):
        if 0 < each.level <= 2:
            current = _phase(each.heading, len(groups), groups)
        elif each.box is None:
            current.words += [words] if (words := line(each.text)) and not each.level else []
        elif (found := TASK.fullmatch(each.rest)) is not None:
            told = STORY.search(found["marks"])
            one = groups.setdefault(key := f"US{int(told[1])}" if told else current.key, current)
            if one is current and key != current.key:
                one = groups[key] = _PhaseGroup(
                    key, f"User Story {told[1] if told else ''}", int(told[1]) if told else 0
                )
            one.tasks.append(each)
    return [one for one in groups.values() if one.tasks]


def _phase(heading: str, count: int, groups: dict[str, _PhaseGroup]) -> _PhaseGroup:
    found = PHASE.fullmatch(heading)
    title = found[2] if found and found[2] else heading
    story = USER_STORY.search(title)
    if story is None:
        return _PhaseGroup(f"phase-{found[1].lower()}" if found else f"part-{count + 1}", title)
    told = PRIORITY.search(story[2])
    key = f"US{int(story[1])}"
    name = PRIORITY.sub("", story[2]).strip() or f"User Story {story[1]}"
    one = _PhaseGroup(key, name, int(story[1]), priority=int(told[1]) if told else 2)
    if key in groups:  # lines of it came before its heading
        one.tasks = groups[key].tasks
        groups[key] = one
    return one


def _order(groups: list[_PhaseGroup]) -> None:
    """A phase of no user story waits for all before it and holds all after it; user stories wait for none of their
    own kind, but for what their lines name."""
    owner = {box.id: one.key for one in groups for each in one.tasks if (box := naming(each)) is not None}
    owner |= {one.key: one.key for one in groups}
    barrier, since = "", list[str]()
    for one in groups:
        one.after += [*([barrier] if barrier else []), *(since if not one.story else [])]
        if one.story:
            since.append(one.key)
        else:
            barrier, since = one.key, []
        named = [ident for each in one.tasks for words in NEEDS.findall(each.rest) for ident in IDS.findall(words)]
        one.after += [owner[ident.upper()] for ident in named if ident.upper() in owner]
