"""OpenSpec: `openspec/changes/<id>/tasks.md` with `proposal.md` and the changed `specs/**/spec.md`. A numbered group of
tasks is one story; the groups are built in their order, and the last one proves the change's scenarios.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from damascus.tasks.importers import boxes
from damascus.tasks.importers.boxes import BoxLine, lines
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Box, Files, Imported, Ticked, line, prose, text_of, unique

GROUP = re.compile(r"(?:(\d{1,4})\.?[ \t]+)?(\S.*)")
TASK = re.compile(r"(\d{1,4}(?:\.\d{1,4}){0,3})\.?[ \t]+(\S.*)")
REQUIREMENT = re.compile(r"Requirement:[ \t]*(\S.*)", re.IGNORECASE)
SCENARIO = re.compile(r"Scenario:[ \t]*(\S.*)", re.IGNORECASE)
CHANGES = re.compile(r"(ADDED|MODIFIED|REMOVED|RENAMED) Requirements", re.IGNORECASE)
STEP = re.compile(r"[ \t]{0,12}(?:[-*+][ \t]+)?((?:GIVEN|WHEN|THEN|AND)\b.*)", re.IGNORECASE)


@dataclass
class _TaskGroup:
    key: str
    title: str
    tasks: list[tuple[Box, bool]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def read(files: Files) -> list[Imported]:
    names = [name for name in files if name.rpartition("/")[2] == "tasks.md"]
    return unique([one for name in names for one in _change(files, name)])


def ticked(raw: bytes, wanted: Sequence[Box]) -> Ticked:
    return boxes.ticked(raw, wanted, naming)


def naming(each: BoxLine) -> Box | None:
    if each.box is None:
        return None
    found = TASK.fullmatch(each.rest)
    return Box(found[1], line(found[2])) if found else Box("", each.rest)


def _change(files: Files, name: str) -> Iterator[Imported]:
    folder = name.rpartition("/")[0]
    groups = _groups(text_of(files, name))
    specs = [text_of(files, each) for each in files if each.startswith(f"{folder}/specs/")]
    promised = [text for spec in specs for text in _scenarios(spec)]
    for n, one in enumerate(groups):
        before = groups[n - 1].key if n else ""
        last = n == len(groups) - 1
        yield _imported(one, name, before, promised if last else [], prose(text_of(files, f"{folder}/proposal.md")))


def _groups(text: str) -> list[_TaskGroup]:
    """A box before any heading is in a group of its own."""
    found = [_TaskGroup("tasks", "Tasks")]
    for each in lines(text):
        if 0 < each.level <= 2:
            told = GROUP.fullmatch(each.heading)
            number = told[1] if told and told[1] else f"part-{len(found)}"
            found.append(_TaskGroup(number, told[2] if told else each.heading))
        elif (box := naming(each)) is not None:
            found[-1].tasks.append((box, each.done))
        elif line(each.text):
            found[-1].words.append(line(each.text))
    return [one for one in found if one.tasks]


def _imported(one: _TaskGroup, name: str, before: str, promised: list[str], proposal: str) -> Imported:
    change = name.split("/")[-2] if "/" in name else "change"
    steps = "\n".join(f"- {box.id} {box.text}" for box, _ in one.tasks)
    return Imported(
        file=name,
        key=one.key,
        name=f"{change}.{one.key}",
        title=line(f"{change}: {one.title}", 200),
        body="\n\n".join(part for part in (steps, "\n".join(one.words), proposal) if part),
        criteria=tuple(dict.fromkeys(promised)),
        scope=tuple(dict.fromkeys(path for box, _ in one.tasks for path in paths_in(box.text))),
        depends_on=(f"{name}#{before}",) if before else (),
        done=all(done for _, done in one.tasks),
        boxes=tuple(box for box, _ in one.tasks),
    )


@dataclass
class _Promised:
    change: str
    name: str
    words: str = ""
    scenarios: list[list[str]] = field(default_factory=list)

    def promises(self) -> list[str]:
        """One for each scenario, one for a requirement without any, and that what is removed is gone."""
        if self.change == "RENAMED":
            return []
        if self.change == "REMOVED":
            return [f"{self.name} is removed"]
        cases = [line(" ".join(case)) for case in self.scenarios if len(case) > 1]
        return cases or [f"{self.name}: {self.words}" if self.words else self.name]


def _scenarios(text: str) -> list[str]:
    change = ""
    found: list[_Promised] = []
    for each in lines(text):
        if told := CHANGES.fullmatch(each.heading) if each.level else None:
            change = told[1].upper()
        elif each.level and (told := REQUIREMENT.fullmatch(each.heading)):
            found.append(_Promised(change, line(told[1], 200)))
        elif found and each.level == 4 and (told := SCENARIO.fullmatch(each.heading)):
            found[-1].scenarios.append([f"{found[-1].name}, {line(told[1], 200)}:"])
        elif found and not each.level:
            _of_requirement(found[-1], each.text.replace("**", ""))
    return [promise for one in found for promise in one.promises()]


def _of_requirement(one: _Promised, text: str) -> None:
    step = STEP.fullmatch(text)
    if one.scenarios and step:
        one.scenarios[-1].append(line(step[1]))
    elif not one.scenarios and not one.words:
        one.words = line(text)
