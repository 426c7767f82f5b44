"""What came to main from elsewhere, and whether it broke a task (A7, docs/impact.md).

Stories are judged before they land. A commit by hand, a merge by a person or a change of dependencies is not, so main
is looked at after each: the gates that ask for it (gate impact) judge what came like a candidate on top of the main
before it. A task whose tests were green and are red since then, twice, is STALE with a report of which tests, by which
commit, whose. Where main's tip is the one that was looked at, comparing the two is all this costs.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, StoryId, short
from damascus.domain.ports import Candidate, Finding, GateResult
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.storable import clean
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.tools import Tools
from damascus.git.setup import lists_packages
from damascus.store import flaky, owners, stale
from damascus.store.flaky import FlakyTest

LOOK = 2.0
BY = "damascus"
NAMED = 5


@dataclass(frozen=True)
class Stretch:
    """Commits of main's first parents, one behind the other, all of stories or all from elsewhere."""

    base: Sha
    end: Sha
    ours: bool
    permits: tuple[str, ...] = field(default=())
    """Tests that the specs of its stories let go or let change."""


class Regressions:
    """Of every repository that this worker has."""

    every = LOOK

    def __init__(self, everyone: Sequence[Tools]) -> None:
        self.everyone = everyone
        self._due: dict[int, float] = {}
        self._lock = threading.Lock()

    def look(self, at_once: bool = False) -> list[str]:
        """The tasks that are STALE by it. `at_once`: whenever a forge elsewhere was asked last."""
        with self._lock:
            return [story for tools in self.everyone if at_once or self._is_due(tools) for story in look_at_main(tools)]

    def _is_due(self, tools: Tools) -> bool:
        """A look at the own disk costs nothing; a forge elsewhere is asked as often as [ci] look_seconds says."""
        now, repo = time.monotonic(), tools.project.repo_id
        if now < self._due.get(repo, now):
            return False
        if not tools.forge.runs_ci:
            self._due[repo] = now + tools.read_config(tools.forge.main_tip()).ci.look_seconds
        return True


def look_at_main(tools: Tools) -> list[str]:
    db, repo, tip = tools.db, tools.project.repo_id, tools.forge.main_tip()
    if owners.looked_up_to(db, repo) == tip:
        return []
    with owners.looking(db, repo) as mine:
        known = owners.looked_up_to(db, repo)
        if not mine or known == tip:
            return []
        marked = [story for each in _stretches(tools, known, tip) for story in _broken_by(tools, each, tip)]
        owners.note_looked(db, repo, tip)
        return marked


# ── what came ─────────────────────────────────────────────────────────────────────────────────────────


def _stretches(tools: Tools, known: str | None, tip: Sha) -> list[Stretch]:
    """Oldest first. A main that was rewritten is one stretch from elsewhere; the first that is seen is no news."""
    if known is None or tools.mirror.objects.find([known])[0] is None:
        return []
    was = Sha(known)
    if not tools.mirror.is_ancestor(was, tip):
        return [Stretch(was, tip, ours=False)]
    between = tools.mirror.git.out("rev-list", "--first-parent", "--reverse", tip, f"^{was}").split()
    landed = owners.landed_by_stories(tools.db, tools.project.repo_id, between)
    found: list[Stretch] = []
    for ours, commits in groupby(between, key=landed.__contains__):
        listed = list(commits)
        permits = tuple(dict.fromkeys(one for commit in listed for one in _permits(landed.get(commit))))
        found.append(Stretch(found[-1].end if found else was, Sha(listed[-1]), ours, permits))
    return found


def _permits(spec: Spec | None) -> tuple[str, ...]:
    return (*spec.may_change, *spec.may_remove) if spec else ()


def _broken_by(tools: Tools, stretch: Stretch, tip: Sha) -> list[str]:
    changed = tools.mirror.changed(stretch.base, stretch.end)
    packages = any(lists_packages(file.path) for file in changed)
    if not changed or (stretch.ours and not packages):
        return []
    found = list(_judged(tools, stretch, packages))
    if found and stretch.end != tip:  # what came later may have cured it
        now = Stretch(stretch.base, tip, stretch.ours, stretch.permits)
        still = {one.owner for one in _judged(tools, now, packages)}
        found = [one for one in found if one.owner in still]
    return [_mark(tools, stretch, one) for one in found]


def _judged(tools: Tools, stretch: Stretch, packages: bool) -> Iterator[Finding]:
    """What the gates find of each owner, without tests that are known to be flaky."""
    candidate = _candidate(tools, stretch, packages)
    quarantined = flaky.quarantined(tools.db, tools.project.repo_id)
    for gate in (gate for gate in tools.gates_after if gate.asked_of_main):
        result = gate.check(candidate)
        _tell(tools, candidate, result)
        for finding in result.findings:
            tests = [test for test in finding.tests if test not in quarantined]
            if tests:
                yield finding.model_copy(update={"tests": tests})


def _candidate(tools: Tools, stretch: Stretch, packages: bool) -> Candidate:
    config, logs = tools.read_config(stretch.base), tools.folder / "main"
    logs.mkdir(parents=True, exist_ok=True)
    return Candidate(
        commit=stretch.end,
        tree=tools.mirror.tree(stretch.end),
        base=stretch.base,
        changed=tools.mirror.changed(stretch.base, stretch.end),
        spec=Spec(StoryId(""), tools.target, None, may_change=stretch.permits),
        scope=Scope(()),
        config=config,
        read=tools.mirror.read,
        files=lambda treeish: tools.mirror.listing(treeish).files,
        logs=logs,
        private_logs=logs,
        env=passed_on(config.workspace.env),
        of_main=True,
        every_owner=packages,
    )


# ── what is told of it ────────────────────────────────────────────────────────────────────────────────


def _tell(tools: Tools, candidate: Candidate, result: GateResult) -> None:
    facts = {"gate": result.gate, "commit": candidate.commit, "broken": [one.owner for one in result.findings]}
    tools.log.info("main judged", repo=tools.project.repo, **facts, unverified=len(result.unverified))
    if result.flaky:
        seen = [FlakyTest(job="main", test=test) for test in result.flaky]
        project, repo = tools.project.id, tools.project.repo_id
        tools.db.run(lambda c: flaky.record_in(c, project, repo, seen, candidate.commit))


def _mark(tools: Tools, stretch: Stretch, finding: Finding) -> str:
    return mark_broken(tools, stretch, finding.owner, finding.tests, finding.paths)


def mark_broken(tools: Tools, stretch: Stretch, story: str, tests: Sequence[str], paths: Sequence[str]) -> str:
    """The task is STALE: these tests of it fail on main, by something in that stretch. `ship` finds such ones too."""
    commit, whose = _culprit(tools, stretch, paths)
    report = {"tests": list(tests), "files": list(paths), "commit": commit, "whose": whose}
    shown = ", ".join(tests[:NAMED]) + (" …" if len(tests) > NAMED else "")
    why = f"{shown} fail on {tools.target} since {short(commit)} by {whose}"
    halts = tools.read_config(tools.forge.main_tip()).tasks.on_stale == "halt"
    change = stale.Invalidation(why=why, by=BY, tests=tests, report=report, halts=halts)
    marked = stale.mark_stale_by_regression(tools.db, tools.project.id, story, change)
    tools.log.info("regression found", story=marked.story_id, commit=commit, tests=len(tests))
    tools.bell.ring()
    return marked.story_id


def _culprit(tools: Tools, stretch: Stretch, paths: Sequence[str]) -> tuple[Sha, str]:
    """The last commit that changed one of the owner's files, else the last of all, and who made it."""
    ask = ("--literal-pathspecs", "log", "-1", "--first-parent", "--diff-merges=first-parent", "--format=%H %an")
    try:
        told = tools.mirror.git.out(*ask, f"{stretch.base}..{stretch.end}", "--", *paths[:200]).strip()
    except DamascusError:
        told = ""
    told = told or tools.mirror.git.out("log", "-1", "--format=%H %an", stretch.end).strip()
    commit, _, author = told.partition(" ")
    return Sha(commit), clean(" ".join(author.split()), 100) or "somebody"
