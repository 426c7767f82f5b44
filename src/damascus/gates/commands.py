"""Gate commands: the project's lint, types, build and whatever else [gates.commands] names exit 0 on the candidate, and
so do the story's own `## Gate Commands`.

They are the base's: damascus.toml names them, else the base's files tell them. What is red on the base too is charged
to nobody and listed by name. A command that was found and can't be started is listed as well; one that a person wrote
down and that does not come to an end has not passed. The story's own are its frozen spec's, a person's word for this
very task: they exit 0 on the candidate, whatever they do on the base. There is no way round them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult, Job, TestRun
from damascus.domain.verdict import Verdict
from damascus.evidence.gate_commands import commands_at
from damascus.gates.base_settings import settings_of_base
from damascus.gates.red_green import CANNOT_RUN
from damascus.gates.runs import evidence, failed_tests, job, summary
from damascus.git.mirror import Mirror
from damascus.stacks.gate_commands import GateCommand
from damascus.stacks.suite import RED_TOO

Laid = Mapping[str, bytes | None]


@dataclass(frozen=True)
class CommandAnswer:
    """What one command says of the candidate, by which runs."""

    evidence: tuple[Evidence, ...]
    finding: Finding | None = None
    listed: tuple[str, ...] = ()


class Commands(Gate):
    name = GateName.COMMANDS

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        asked = commands_at(candidate)
        laid = settings_of_base(candidate) if asked.commands else {}
        answers = [self._answer(candidate, each, laid) for each in asked.commands]
        answers += [self._own(candidate, each) for each in own_commands(candidate)]
        return GateResult(
            gate=self.name,
            findings=[answer.finding for answer in answers if answer.finding],
            evidence=[each for answer in answers for each in answer.evidence],
            unverified=[*asked.left_out(), *(text for answer in answers for text in answer.listed)],
        )

    def _answer(self, candidate: Candidate, asked: GateCommand, laid: Laid) -> CommandAnswer:
        """By the base's settings first, then by the story's own: those will be main's."""
        run = self._runner.run(replace(_job(candidate, candidate.tree, asked), files=laid))
        if not run.green:
            return self._red(candidate, asked, run, laid)
        runs, listed = (_evidence(asked, run),), tuple(_rewritten(asked, run))
        if not laid:
            return CommandAnswer(runs, listed=listed)
        own = self._runner.run(_job(candidate, candidate.tree, asked, "-own"))
        told = _evidence(asked, own, " with the story's settings")
        message = f"{_failed(asked, own)}, with what the story itself says in {_named(laid)}; by main's word it passes"
        return CommandAnswer((*runs, told), None if own.green else _finding(asked, own, message), listed)

    def _own(self, candidate: Candidate, asked: GateCommand) -> CommandAnswer:
        run = self._runner.run(_job(candidate, candidate.tree, asked))
        message = f"the task's own gate command failed: `{asked.command}`: {summary(run)}. It must exit 0"
        finding = None if run.green else _finding(asked, run, message)
        return CommandAnswer((_evidence(asked, run),), finding, tuple(_rewritten(asked, run)))

    def _red(self, candidate: Candidate, asked: GateCommand, run: TestRun, laid: Laid) -> CommandAnswer:
        told = _evidence(asked, run)
        by = f", by what main says in {_named(laid)} (the spec's may_change lets a story's own word hold)"
        message = _failed(asked, run) + (by if laid else "")
        if not asked.found and (run.timed_out or run.exit_code in CANNOT_RUN):
            return CommandAnswer((told,), _finding(asked, run, message))
        base = self._runner.run(_job(candidate, self._mirror.tree(Sha(candidate.base)), asked, "-base"))
        runs = told, _evidence(asked, base, " on the base")
        if _no_better(asked, run, base):
            return CommandAnswer(runs, listed=(_red_on_base(asked, base),))
        return CommandAnswer(runs, _finding(asked, run, f"{message}; without the story: {summary(base)}"))


def own_commands(candidate: Candidate) -> list[GateCommand]:
    """`gate 1`, `gate 2`, …"""
    return [GateCommand(f"gate {n}", command) for n, command in enumerate(candidate.spec.gate_commands, 1)]


def _job(candidate: Candidate, tree: Sha, asked: GateCommand, label: str = "") -> Job:
    return job(candidate, tree, asked.command, f"gate-{_file_name(asked.name)}{label}")


def _no_better(asked: GateCommand, run: TestRun, base: TestRun) -> bool:
    """Is the base as red? A command that a person wrote down and that only the story can start says something of it."""
    if run.timed_out:
        return base.timed_out
    if run.exit_code in CANNOT_RUN or not asked.found:
        return not base.green and (base.exit_code in CANNOT_RUN) is (run.exit_code in CANNOT_RUN)
    return not base.green


def _red_on_base(asked: GateCommand, base: TestRun) -> str:
    if base.exit_code in CANNOT_RUN:
        return f"{asked.name}: `{asked.command}` can't be started here ([workspace] setup may install it)"
    return f"{asked.name}: `{asked.command}` {RED_TOO}: {summary(base)}"


def _rewritten(asked: GateCommand, run: TestRun) -> list[str]:
    """A linter that mends what it finds says nothing of what lands."""
    changed = f"changes {', '.join(run.rewritten[:5])}{' …' if len(run.rewritten) > 5 else ''}"
    return [f"{asked.name}: `{asked.command}` {changed}: what it passes is not what lands"] if run.rewritten else []


def _evidence(asked: GateCommand, run: TestRun, what: str = "") -> Evidence:
    told = evidence(asked.name + what, run)
    return told.model_copy(update={"summary": f"{told.summary}, found from main's files"}) if asked.found else told


def _named(laid: Laid) -> str:
    return ", ".join(sorted(laid))


def _file_name(key: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in key)


def _failed(asked: GateCommand, run: TestRun) -> str:
    return f"the project's command {asked.name} failed: `{asked.command}`: {summary(run)}"


def _finding(asked: GateCommand, run: TestRun, message: str) -> Finding:
    return Finding(
        gate=asked.name, verdict=Verdict.COMMAND_FAILED, message=message, tests=failed_tests(run), output=run.output
    )
