"""Gate impact: what other stories promised of the files that this one changed still holds (A7, docs/impact.md).

Who owns a file is git's word: what each landed story changed. Every other owner of a changed file has the tests of its
contracts run on the candidate, before the candidate lands. Red here and green without the story: refused, with the
owner, its contract and its test by name. Red without it too: charged to nobody, listed by name. What can't be run has
not passed, and is listed. A test that the spec's may_change or may_remove names is a person's word.

What the story is built on, and what is built on it, may break by files that nobody owned: of those landed stories the
contracts are asked that a green run of the suite shows nothing of, a bounded number of commands.

Each command runs once on a tree, however many owners share it; where several are asked for, one green run of the
project's suite speaks for every owner of whom it shows a green test for each promise.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from damascus.domain.ids import Sha
from damascus.domain.ports import (
    Candidate,
    Evidence,
    EvidenceRunner,
    Finding,
    Gate,
    GateName,
    GateResult,
    Owner,
    Owners,
    TestRun,
)
from damascus.domain.verdict import Verdict
from damascus.evidence.diff_paths import is_test
from damascus.gates.compared_runs import compared
from damascus.gates.impact_blame import blamed, promised
from damascus.gates.impact_promises import commands, kept, of_contracts, promises
from damascus.gates.permitted import permits
from damascus.gates.runs import evidence, failed_tests, job, summary, tells_single_tests, to_the_end
from damascus.gates.suite import suite_at
from damascus.git.mirror import Mirror
from damascus.stacks.suite import RED_TOO

NOBODY = "no other story owns a changed file"
UNKNOWN = "who owns the changed files is not known here: nothing was compared"
NAMED = 20
SHARED = 2
"""From so many commands on, the suite is asked first."""
MOST_OF_KIN = 20
"""Commands of stories that own nothing of what changed."""


@dataclass
class ImpactSaid:
    """What the owners' tests said so far."""

    runs: list[Evidence] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)


class Impact(Gate):
    name = GateName.IMPACT
    asked_of_main = True

    def __init__(self, runner: EvidenceRunner, mirror: Mirror, owners: Owners) -> None:
        self._runner, self._mirror, self._owners = runner, mirror, owners

    def check(self, candidate: Candidate) -> GateResult:
        changed = [file.path for file in candidate.changed]
        found = self._owners.every() if candidate.every_owner else self._owners.of(changed)
        if found is None:
            return self._nothing(candidate, UNKNOWN, [f"impact: {UNKNOWN}"])
        others = [one for one in found if one.story.lower() != candidate.spec.story.lower()]
        others = [one for one in others if not candidate.of_main or _is_task(one)]
        kin = self._kin(candidate, others)
        if not others and not kin:
            return self._nothing(candidate, NOBODY, [])
        return self._judged(candidate, others, kin)

    def _kin(self, candidate: Candidate, others: list[Owner]) -> list[Owner]:
        """With contracts, and not asked anyway. On main nobody builds."""
        known = {one.item for one in others}
        found = [] if candidate.of_main or not candidate.changed else self._owners.kin(candidate.spec.story)
        return [one for one in found if one.item not in known and one.spec and one.spec.contracts]

    def _nothing(self, candidate: Candidate, why: str, unverified: list[str]) -> GateResult:
        told = Evidence(gate=self.name, tree=candidate.tree, summary=why)
        return GateResult(gate=self.name, evidence=[told], unverified=unverified)

    def _judged(self, candidate: Candidate, others: list[Owner], kin: list[Owner]) -> GateResult:
        said = ImpactSaid()
        said.listed += [f"impact: {one.story} names no test that could be run" for one in others if not commands(one)]
        spoken_for = self._by_the_suite(candidate, others, said)
        for command, owners in by_command(one for one in others if one.item not in spoken_for).items():
            self._ask(candidate, command, owners, said)
        self._ask_kin(candidate, kin, by_command(others), said)
        return GateResult(
            gate=self.name,
            findings=said.findings,
            evidence=[_cost(candidate, others, kin, said), *said.runs],
            unverified=said.listed,
            notes=said.notes,
            flaky=list(dict.fromkeys(said.flaky)),
        )

    def _by_the_suite(self, candidate: Candidate, others: list[Owner], said: ImpactSaid) -> set[int]:
        """Owners whose contracts' tests one run of the whole suite has shown to be green; it is made anyway."""
        asked = [one for one in others if promises(one) and not _touched(candidate, one)]
        suite = suite_at(candidate)
        if not suite.command or len(by_command(asked)) < SHARED:
            return set()
        run = self._runner.run(job(candidate, candidate.tree, suite.command, "suite"))
        if not run.green or not tells_single_tests(run):
            return set()
        said.runs.append(evidence("suite, for owners", run))
        return {one.item for one in asked if kept(promises(one), run)}

    def _ask_kin(self, candidate: Candidate, kin: list[Owner], asked: Collection[str], said: ImpactSaid) -> None:
        """The suite speaks for all of whom it shows a green test for each contract; the others have their commands."""
        suite = suite_at(candidate).command if kin else ""
        run = self._runner.run(job(candidate, candidate.tree, suite, "suite")) if suite else None
        shown = run if run and run.green and tells_single_tests(run) else None
        said.runs += [evidence("suite, for what it builds on", shown)] if shown else []
        silent = [one for one in kin if _touched(candidate, one) or not shown or not kept(of_contracts(one), shown)]
        left = {command: whose for command, whose in by_command(silent).items() if command not in asked}
        for command in list(left)[:MOST_OF_KIN]:
            self._ask(candidate, command, left.pop(command), said)
        if left:
            owners = list(dict.fromkeys(one.story for each in left.values() for one in each))
            said.listed.append(
                f"impact: {len(left)} more commands of stories that it builds on, or that build on it, were not run: "
                f"{_names(owners)}. {MOST_OF_KIN} are run at most; what the project's suite runs needs none"
            )

    def _ask(self, candidate: Candidate, command: str, owners: list[Owner], said: ImpactSaid) -> None:
        now = self._runner.run(job(candidate, candidate.tree, command, "impact"))
        said.runs.append(evidence(_whose(owners), now))
        if now.green and not any(_touched(candidate, one) for one in owners):
            said.listed += _by_exit_code(owners, now)
            return
        base = self._runner.run(job(candidate, self._mirror.tree(Sha(candidate.base)), command, "impact-base"))
        said.runs.append(evidence(f"{_whose(owners)}, without the story", base))
        lost = self._lost(candidate, base, now, owners, said)
        if lost:
            self._blame(now, base, lost, owners, said)

    def _lost(
        self, candidate: Candidate, base: TestRun, now: TestRun, owners: list[Owner], said: ImpactSaid
    ) -> list[str]:
        """Green without the story and not with it, twice; what a person let go is no loss, and luck is none either."""
        found = compared(base, now)
        if found.unknown:
            said.listed.append(f"impact: {_whose(owners)}: {found.unknown}")
            return []
        lost = list(found.lost) or _new_red(base, now)
        said.listed += _red_too(owners, base, now, lost)
        entries = (*candidate.spec.may_change, *candidate.spec.may_remove)
        allowed = [test for test in lost if permits(entries, test)]
        said.notes += [f"impact: changed by the spec's word: {_names(allowed)}"] if allowed else []
        lost = [test for test in lost if test not in allowed]
        return self._twice(candidate, base, now, lost, said) if lost else []

    def _twice(self, candidate: Candidate, base: TestRun, now: TestRun, lost: list[str], said: ImpactSaid) -> list[str]:
        wanted = job(candidate, candidate.tree, now.command, "impact-again")
        again = self._runner.run(replace(wanted, env=to_the_end(wanted.env), fresh=True))
        still = {*compared(base, again).lost, *_new_red(base, again)}
        flaky = [test for test in lost if test not in still and (again.green or tells_single_tests(again))]
        said.runs.append(evidence("once more", again))
        said.flaky += flaky
        said.notes += [f"impact: red, then green on the same tree: {_names(flaky)}"] if flaky else []
        return [test for test in lost if test not in flaky]

    def _blame(self, now: TestRun, base: TestRun, lost: list[str], owners: list[Owner], said: ImpactSaid) -> None:
        texts = {case.id: case.text for case in (*base.cases, *now.cases)}
        for owner, tests in blamed(self._owners, owners, lost).items():
            named = [f"{promised(owner, test, texts.get(test, ''))}{test}" for test in tests]
            why = f"It owns {_names(owner.files)}" if owner.files else "One of the two is built on the other"
            message = (
                f"{owner.story} is broken: {_names(named)} red or missing on this code, green without it. {why}. "
                f"Repair the code so that what {owner.story} promised holds; only the spec (may_change) lets a test "
                "say something else."
            )
            said.findings.append(
                Finding(
                    gate=self.name,
                    verdict=Verdict.REGRESSION,
                    message=message,
                    paths=list(owner.files),
                    tests=tests,
                    output=now.output,
                    owner=owner.story,
                )
            )


# ── what an owner promised ────────────────────────────────────────────────────────────────────────────


def by_command(owners: Iterable[Owner]) -> dict[str, list[Owner]]:
    found: dict[str, list[Owner]] = {}
    for owner in owners:
        for command in commands(owner):
            found.setdefault(command, []).append(owner)
    return found


def _is_task(owner: Owner) -> bool:
    return owner.spec is not None and bool(owner.spec.graph or owner.spec.contracts)


def _touched(candidate: Candidate, owner: Owner) -> bool:
    """Did the story change a test file of the owner's? Then green alone says little: one may be gone."""
    changed = {file.path for file in candidate.changed if file.status != "A"}
    promised_in = {one.file for one in owner.spec.contracts} if owner.spec else set()
    return any(path in promised_in or (path in owner.files and is_test(candidate, path)) for path in changed)


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────


def _new_red(base: TestRun, now: TestRun) -> list[str]:
    """The command was green and is not, though no test of the base is known to be lost: it has not passed."""
    return (failed_tests(now) or [f"`{now.command}`"]) if base.green and not now.green else []


def _red_too(owners: list[Owner], base: TestRun, now: TestRun, lost: list[str]) -> list[str]:
    red = [test for test in failed_tests(now) if test not in lost]
    told = red if red else [] if now.green or lost else [f"`{base.command}` ({summary(base)})"]
    return [f"impact: {_whose(owners)}: {_names(told)} {RED_TOO}"] if told else []


def _by_exit_code(owners: list[Owner], run: TestRun) -> list[str]:
    return [] if run.counted else [f"impact: {_whose(owners)}: `{run.command}` tells no count; by exit code only"]


def _cost(candidate: Candidate, others: list[Owner], kin: list[Owner], said: ImpactSaid) -> Evidence:
    made = [one for one in said.runs if not one.kept]
    seconds = sum(one.seconds for one in made)
    told = f"{len(others)} other {'stories own' if len(others) > 1 else 'story owns'} changed files ({_whose(others)})"
    told = told if others else NOBODY
    told += f", {len(kin)} that it builds on or that build on it ({_whose(kin)})" if kin else ""
    cost = f"{len({one.command for one in said.runs})} commands, {len(made)} runs, {seconds:.1f} s"
    return Evidence(gate=GateName.IMPACT, tree=candidate.tree, summary=f"{told}: {cost}")


def _whose(owners: list[Owner]) -> str:
    return _names([owner.story for owner in owners])


def _names(words: Iterable[str]) -> str:
    listed = list(words)
    more = len(listed) - NAMED
    return ", ".join(listed[:NAMED]) + (f" and {more} more" if more > 0 else "")
