"""Before a task's code is written the pattern library is searched (A4): what fits goes into the brief and on record.

The library is read from the base commit. In a domain of `[patterns] required` no agent is sent without that look-up: a
person writes the index, takes the domain out, or says that it goes on without. Plain stories are not concerned.
"""

from dataclasses import dataclass, replace

from damascus import stacks
from damascus.domain.config import Config
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha
from damascus.domain.outcome import NeedsPerson
from damascus.domain.ports import Report
from damascus.domain.recovery import CANCEL, RETRY, WITHOUT_PATTERNS
from damascus.domain.roles import Role
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.engine.agent_step.briefs import Handed
from damascus.engine.agent_step.context import scoped
from damascus.engine.agent_step.results import AgentResult, sentences
from damascus.engine.run import Run
from damascus.git.mirror import Mirror
from damascus.git.trees import REGULAR
from damascus.store import patterns as store
from damascus.store.db import Connection
from damascus.tasks.pattern_search import OFFERED, domains_of, same, search, shows, wanted_by
from damascus.tasks.patterns import FIELDS, LARGEST, MOST_FILES, Library, Pattern, named_files, read_library

WRITERS = (Role.TEST_AUTHOR, Role.CODE_IMPLEMENTER)
"""Who writes what is new; a fixer repairs it."""
START = "The pattern library: "
"""Of the question, by which its answer is found."""
MOST_SHOWN = 3_000
MOST_LINES = 20_000
TOLD = (
    "This project has solved this kind of thing before. Use what fits, unless the spec says otherwise. Name the ids "
    "that you used in your report, as a list `patterns`; it counts where your diff shows it."
)


@dataclass(frozen=True)
class LookedUp:
    """The library as it was found, and what of it the agent is offered."""

    library: Library
    offered: tuple[Pattern, ...]

    def added_to(self, handed: Handed | None) -> Handed | None:
        if not self.offered:
            return handed
        known = handed or Handed()
        return replace(known, sections=(*known.sections, *sections(self.offered)))

    def record(self, c: Connection, run: Run) -> None:
        store.offer(c, run.item.project_id, run.item.id, [(one.id, one.title) for one in self.offered])


def look_up(run: Run, spec: Spec, base: str) -> LookedUp | NeedsPerson:
    config = run.tools.read_config(base)
    library = library_at(run.tools.mirror, Sha(base), config)
    if not library.patterns:
        return _missing(run, spec, config, library) or LookedUp(library, ())
    files = run.tools.mirror.listing(Sha(base)).files
    wanted = wanted_by(spec, [stack.name for stack in stacks.detect(files.keys())])
    return LookedUp(library, tuple(match.pattern for match in search(library, wanted)[:OFFERED]))


def library_at(mirror: Mirror, base: Sha, config: Config) -> Library:
    """No patterns, and why, where there is no index or nothing in it can be read."""
    index = config.patterns.index
    raw = mirror.read(base, index)
    if raw is None:
        return Library(faults=(f"{index} is not on main",))
    return read_library(index, raw, _entries(mirror, base, named_files(index, raw)))


def _entries(mirror: Mirror, base: Sha, named: list[str]) -> dict[str, bytes]:
    """What the index names, as far as it is there: so many files, so many bytes."""
    found: dict[str, bytes] = {}
    left = LARGEST
    for path, entry in scoped(mirror, base, Scope(tuple(named))) if named else ():
        data = mirror.read(base, path) if entry.mode in REGULAR and path.endswith(".md") else None
        if data is not None and len(found) < MOST_FILES and len(data) <= left:
            found[path], left = data, left - len(data)
    return found


def _missing(run: Run, spec: Spec, config: Config, library: Library) -> NeedsPerson | None:
    """No look-up, no agent, where the domain requires one and no person said otherwise."""
    required = {same(each) for each in config.patterns.required} & domains_of(spec)
    if not required or _goes_on_without(run):
        return None
    index, domains = config.patterns.index, ", ".join(sorted(required))
    text = (
        f"{START}{run.item.story_id} is about {domains}, and before its code is written the library is to be searched, "
        f"but {'; '.join(library.faults)}. No agent was sent. Write {index} on main (docs/patterns.md) and retry, or "
        f"take {domains} out of [patterns] required, or go on without."
    )
    feedback = VerdictFeedback(message=text, gate="patterns")
    return NeedsPerson(None, text, (RETRY, WITHOUT_PATTERNS, CANCEL), feedback)


def _goes_on_without(run: Run) -> bool:
    return run.tools.db.one("answer_to", item=run.item.id, start=START, answers=[WITHOUT_PATTERNS]) is not None


# ── in the brief ──────────────────────────────────────────────────────────────────────────────────────


def sections(offered: tuple[Pattern, ...]) -> list[HandoffSection]:
    """What to do with them, then each entry as somebody's text."""
    intro = HandoffSection(Priority.PLAN, "Patterns of the library", TOLD)
    return [intro, *(HandoffSection(Priority.PLAN, one.name, entry(one), quoted=True) for one in offered)]


def entry(one: Pattern) -> str:
    lines = [f"{name}: {one.fields[name]}" for name in FIELDS if one.told(name)]
    told = lines or [f"keywords: {', '.join(one.keywords)}"]
    return "\n".join(told)[:MOST_SHOWN]


# ── applied ───────────────────────────────────────────────────────────────────────────────────────────


def applied(run: Run, looked: LookedUp, report: Report | None, result: AgentResult) -> list[str]:
    """Those of the library that the agent says it used, and whose signs its diff shows."""
    told = {**report.claims, **report.whole} if report else {}
    claimed = [one for ident in sentences(told.get("patterns")) if (one := looked.library.find(ident.strip()))]
    if not claimed or result.tree is None:
        return []
    patch = run.tools.mirror.patch(Sha(result.base), Sha(result.tree), "--no-renames")
    lines = patch.decode("utf-8", errors="replace").split("\n")
    added = [line[1:500] for line in lines if line.startswith("+") and not line.startswith("+++ ")][:MOST_LINES]
    return list(dict.fromkeys(one.id for one in claimed if shows(one, added, result.files_changed)))


def record_applied(c: Connection, run: Run, looked: LookedUp, ids: list[str]) -> None:
    known = [one for ident in ids if (one := looked.library.find(ident))]
    store.apply(c, run.item.project_id, run.item.id, [(one.id, one.title) for one in known])
