"""What goes by age ([retention]): told before, or done and told."""

from dataclasses import dataclass
from datetime import datetime

from damascus.app import App, Project
from damascus.engine.maintenance.retention import rules
from damascus.engine.tools import nothing
from damascus.people.acts import Done
from damascus.store import projects
from damascus.toolset import make_tools


@dataclass(frozen=True)
class Aged:
    """One kind of things of one repository. `days` 0: they stay for ever, and none is counted."""

    repository: str
    what: str
    days: int
    count: int = 0
    bytes: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True)
class Pruned(Done):
    """By repository and kind, of one project. `others` share the installation, and keep theirs."""

    dry_run: bool
    aged: tuple[Aged, ...]
    project: str
    others: tuple[str, ...] = ()


def prune(app: App, project: Project, *, dry_run: bool) -> Pruned:
    aged: list[Aged] = []
    for number, each in enumerate(app.repositories(project)):
        tools = make_tools(app, each, None, lambda: False, nothing)
        for rule in rules(tools, of_host=number == 0):
            old = rule.look(rule.days) if rule.days else None
            if old is None:
                aged.append(Aged(each.row.repo, rule.what, 0))
                continue
            if old.count and not dry_run:
                rule.prune(rule.days)
            aged.append(Aged(each.row.repo, rule.what, rule.days, old.count, old.bytes, old.oldest))
    count, name = sum(each.count for each in aged), project.row.name
    others = tuple(projects.others(app.database, project.row))
    said = f"{count} of {name} would go, and nothing was touched." if dry_run else f"{count} of {name} went."
    if others:
        said += f" Ask for {', '.join(others)} in their own folders: each has its own [retention]."
    following = "damascus db prune" if dry_run and count else "damascus status"
    return Pruned(said, following, dry_run, tuple(aged), name, others)
