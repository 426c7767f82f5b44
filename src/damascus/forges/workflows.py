"""What a repository's workflow files say: which jobs there are, what starts them, and which runner they ask for.

Only as much of the language as `forge doctor` needs. What can't be read is named, and never taken for fine.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml


@dataclass(frozen=True)
class Trigger:
    """One `on:` of a workflow file: event to its filter."""

    events: Mapping[str, Mapping[str, Any]]

    def on_push(self, branch: str) -> bool:
        told = self.events.get("push")
        if told is None:
            return False
        if "branches" in told:
            return _matches(branch, told["branches"])
        if "branches-ignore" in told:
            return not _matches(branch, told["branches-ignore"])
        return "tags" not in told and "tags-ignore" not in told

    @property
    def on_pull(self) -> bool:
        return "pull_request" in self.events or "pull_request_target" in self.events

    @property
    def only_some_paths(self) -> bool:
        told = self.events.get("push") or {}
        return "paths" in told or "paths-ignore" in told


@dataclass(frozen=True)
class WorkflowJob:
    """`name` is the one that CI reports; of a matrix it is the beginning of several."""

    name: str
    file: str
    trigger: Trigger
    labels: tuple[str, ...] = ()
    parts: bool = False
    conditional: bool = False

    def is_called(self, name: str) -> bool:
        return name.startswith((f"{self.name} (", f"{self.name} / ")) if self.parts else name == self.name


@dataclass(frozen=True)
class Workflows:
    jobs: list[WorkflowJob] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def find(self, name: str) -> WorkflowJob | None:
        return next((job for job in self.jobs if job.is_called(name)), None)

    @property
    def names(self) -> list[str]:
        return [f"{job.name} (…)" if job.parts else job.name for job in self.jobs]


def read_workflows(files: Mapping[str, str]) -> Workflows:
    """`files` by their paths. A file that is no workflow is named in `unreadable`."""
    found = Workflows()
    for path, text in files.items():
        try:
            told = yaml.safe_load(text)
            # YAML 1.1 reads the bare word `on` as true.
            trigger = Trigger(_events(told.get("on", told.get(True))))
            found.jobs.extend(_job(path, trigger, key, job) for key, job in told["jobs"].items())
        except (yaml.YAMLError, AttributeError, KeyError, TypeError) as err:
            found.unreadable.append(f"{path} ({type(err).__name__}: {' '.join(str(err).split())[:120]})")
    return found


def _job(path: str, trigger: Trigger, key: str, job: Mapping[str, Any]) -> WorkflowJob:
    asked = job.get("runs-on", ())
    labels = (asked,) if isinstance(asked, str) else tuple(asked) if isinstance(asked, list) else ()
    several = "matrix" in (job.get("strategy") or {}) or "uses" in job
    return WorkflowJob(str(job.get("name") or key), path, trigger, labels, several, "if" in job)


def _events(told: Any) -> dict[str, Mapping[str, Any]]:
    if isinstance(told, str):
        return {told: {}}
    if isinstance(told, list):
        return {str(event): {} for event in told}
    return {str(event): how or {} for event, how in dict(told).items() if not isinstance(how, list)}


def _matches(name: str, patterns: str | Iterable[str]) -> bool:
    """The last pattern that fits decides; `!` excludes."""
    fits = False
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        wanted = not pattern.startswith("!")
        if matches(name, pattern.removeprefix("!")):
            fits = wanted
    return fits


def matches(name: str, pattern: str) -> bool:
    """`*` stays within a part of the name, `**` does not. A `**/` is never nothing here, and brackets are themselves:
    another language than that of scopes (domain/scope.py)."""
    words = re.split(r"(\*\*|\*|\?)", pattern)
    meaning = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.fullmatch("".join(meaning.get(word, re.escape(word)) for word in words), name) is not None
