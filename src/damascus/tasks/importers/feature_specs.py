"""A feature's `spec.md` of Spec Kit: user stories, scenarios, functional requirements, and what it leaves open."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from damascus.tasks.importers.boxes import lines
from damascus.tasks.importers.record import line

TITLE = re.compile(r"(?:Feature Specification|Feature|Spec|Tasks):[ \t]*(.+)", re.IGNORECASE)
USER_STORY = re.compile(r"User Story[ \t]+(\d{1,6})\b.*", re.IGNORECASE)
PRIORITY = re.compile(r"\(Priority:[ \t]*P(\d)\)", re.IGNORECASE)
SCENARIO = re.compile(r"[ \t]{0,12}(?:\d{1,4}[.)]|[-*+])[ \t]+(.*\bGiven\b.*)", re.IGNORECASE)
REQUIREMENT = re.compile(r"[ \t]{0,12}[-*+][ \t]+\*{0,2}(FR-\d{1,9})\*{0,2}:?\*{0,2}:?[ \t]+(.+)", re.IGNORECASE)
OPEN = re.compile(r"\[NEEDS CLARIFICATION:?[ \t]*([^\]\n]{0,500})\]", re.IGNORECASE)
NAMED = re.compile(r"\bFR-\d{1,9}\b", re.IGNORECASE)

Share = tuple[list[str], list[str], list[str]]
"""Of one story: what it must prove, what a person must answer, what it lacks."""


@dataclass
class Shares:
    by_key: dict[str, Share] = field(default_factory=dict)

    def of(self, key: str) -> Share:
        return self.by_key.setdefault(key, ([], [], []))


@dataclass
class SpecKitFeature:
    """`open` are questions by the user story in whose text they stand, 0 for none."""

    title: str = ""
    texts: dict[int, list[str]] = field(default_factory=dict)
    scenarios: dict[int, list[str]] = field(default_factory=dict)
    priorities: dict[int, int] = field(default_factory=dict)
    requirements: dict[str, str] = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)
    """Requirements that nobody can prove before a person has said what they mean."""
    open: list[tuple[int, str, str]] = field(default_factory=list)
    """User story, requirement (each of them may be none), question."""

    def story_text(self, story: int) -> str:
        return "\n".join(self.texts.get(story, [])) if story else ""

    def shared(self, groups: Mapping[str, tuple[int, str]]) -> Shares:
        """Who proves what. A requirement belongs to the user stories that name it; to the only one, if there is one;
        else to the last phase behind all of them. With none of these nobody would prove it: each user story lacks it,
        so that a refiner and a person say where it belongs."""
        shares = Shares()
        stories = [key for key, (story, _) in groups.items() if story]
        for key, (story, _) in groups.items():
            shares.of(key)[0].extend(self.scenarios.get(story, []) if story else [])
        owners = {ident: self._owners(ident, groups, stories) for ident in self.requirements}
        for ident, text in self.requirements.items():
            for key in owners[ident] if ident not in self.undecided else []:
                shares.of(key)[0].append(f"{text} [{ident}]")
        homeless = [ident for ident in self.requirements if not owners[ident]]
        for key in stories if homeless else []:
            shares.of(key)[2].append(f"a home for {', '.join(homeless[:10])}")
        self._ask(shares, groups, owners)
        return shares

    def _owners(self, ident: str, groups: Mapping[str, tuple[int, str]], stories: list[str]) -> list[str]:
        naming = {key for key, (story, text) in groups.items() if ident in _named(text)}
        naming |= {key for key, (story, _) in groups.items() if story and ident in _named(self.story_text(story))}
        if naming:
            return [key for key in groups if key in naming]
        last = list(groups)[-1:] if groups else []
        return stories if len(stories) == 1 else last if last and not groups[last[0]][0] and len(stories) > 1 else []

    def _ask(self, shares: Shares, groups: Mapping[str, tuple[int, str]], owners: Mapping[str, list[str]]) -> None:
        """Of whoever it concerns; what concerns nobody by name is asked once, of the first."""
        by_story = {story: key for key, (story, _) in groups.items() if story}
        first = [*by_story.values(), *groups][:1]
        for story, ident, question in self.open:
            concerned = [by_story[story]] if story in by_story else owners.get(ident) or first
            for key in concerned:
                shares.of(key)[1].append(question)


def _named(text: str) -> set[str]:
    return {found.upper() for found in NAMED.findall(text)}


def feature_of(text: str) -> SpecKitFeature:
    found, story = SpecKitFeature(), 0
    for each in lines(text):
        if each.level:
            story = _heading(found, each.heading, each.level, story)
            continue
        told = line(each.text.replace("**", ""))
        requirement = REQUIREMENT.fullmatch(each.text)
        ident = requirement[1].upper() if requirement else ""
        if requirement:
            found.requirements.setdefault(ident, line(requirement[2].replace("**", "")))
        elif story and (scenario := SCENARIO.fullmatch(told)) and not OPEN.search(told):
            found.scenarios.setdefault(story, []).append(line(scenario[1]))
        elif story and told:
            found.texts.setdefault(story, []).append(told)
        for question in OPEN.findall(each.text):
            found.open.append((story, ident, line(f"{OPEN.sub('…', told)} {question}")))
            found.undecided |= {ident}
    return found


def _heading(found: SpecKitFeature, heading: str, level: int, story: int) -> int:
    """The user story that the following lines belong to."""
    if level == 1 and (title := TITLE.fullmatch(heading)):
        found.title = line(title[1], 120)
    told = USER_STORY.search(heading)
    if told is None:
        return story if level > 3 else 0
    if priority := PRIORITY.search(heading):
        found.priorities[int(told[1])] = int(priority[1])
    return int(told[1])
