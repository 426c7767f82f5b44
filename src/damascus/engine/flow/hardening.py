"""mutate: what would go unnoticed. Damascus itself runs the tests and the mutants, as its gates do; where mutants live
the mutator may say in prose what that means, and no number of its own.

Nobody is refused here: what is found goes to the fixer, and every gate judges the commit afterwards.
"""

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.ports import Finding, GateName
from damascus.domain.roles import Role
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.flow.opening import Notes, goes_on
from damascus.engine.flow.papers import leave, left_out
from damascus.engine.flow.work import Work
from damascus.engine.judging import Judged, candidate_of, feedback, judge, survived, unanswered
from damascus.engine.step import Step, StepKind
from damascus.evidence.receipt_evidence import changed_content


class MutantNotes(Notes):
    artifact = "mutation_notes.md"


MUTATE = Step(
    "mutate", Phase.BUILD, StepKind.LOCAL, Judged, "our own gates run the tests and the mutants of the changed code"
)
EXPLAIN_MUTANTS = Step(
    "explain_mutants", Phase.BUILD, StepKind.AGENT, MutantNotes,
    "where mutants live, the mutator says in prose which tests are missing",
    role=Role.MUTATOR,
)  # fmt: skip


def mutate(work: Work, turn: int) -> VerdictFeedback | None:
    """What the fixer has to know; None: nothing was found."""
    if work.skips(MUTATE):
        left_out(work, MUTATE)
        return None
    if work.made is None or work.made.commit is None:
        return None
    judged = work.judged = work.run.local(MUTATE, lambda: _run(work), key=str(turn))
    work.seen.append(judged)
    findings = _findings(work, judged, turn)
    if not findings:
        return None
    told = feedback(work.run, judged, findings, work.made.files_changed)
    if any(finding.gate == GateName.MUTATION for finding in findings):
        told = told.model_copy(update={"message": f"{told.message}{_explained(work, judged, turn, told)}"})
    return told


def _explained(work: Work, judged: Judged, turn: int, told: VerdictFeedback) -> str:
    """The mutator's words, marked as its own."""
    prose = work.send(
        EXPLAIN_MUTANTS,
        str(turn),
        feedback=told,
        failed=goes_on,
        leaves=lambda notes: leave(work, MUTATE, report(judged) + _claimed(notes.text)),
    )
    return _claimed(prose.text)


def _claimed(text: str) -> str:
    return f"\n\n## What the mutator says of it\n\n{text}\n" if text else ""


def _run(work: Work) -> Judged:
    """What looks at the diff, then the tests, and beside them mutants, canary and coverage. What is run here is not run
    again for the same tree."""
    assert work.made is not None
    run, commit, base = work.run, Sha(str(work.made.commit)), Sha(work.made.base)
    judged = judge(run, run.tools.gates_before, candidate_of(run, work.spec, commit, base))
    if not judged.findings:
        tests = [gate for gate in run.tools.gates_after if gate.opens_beside]
        candidate = candidate_of(run, work.spec, commit, base, judged)
        tested = judge(run, tests, candidate, run.tools.gates_beside)
        whole = [*judged.results, *tested.results]
        judged = tested.model_copy(update={"change": changed_content(run.tools.mirror, candidate), "results": whole})
    leave(work, MUTATE, report(judged))
    return judged


def _findings(work: Work, judged: Judged, turn: int) -> list[Finding]:
    alive = unanswered(work.run, judged.survivors)
    return [*judged.findings, *([survived(alive)] if alive else []), *_weak(judged, turn)]


def _weak(judged: Judged, turn: int) -> list[Finding]:
    """What refuses nobody and could be better: asked for once, since not every mutant can be noticed."""
    result = judged.of(GateName.MUTATION)
    if turn > 1 or result is None or not result.notes:
        return []
    message = f"{'; '.join(result.notes)}. Write a test that notices it, where one can."
    return [Finding(gate=GateName.MUTATION, verdict=Verdict.MUTANT_SURVIVED, message=message)]


def report(judged: Judged) -> str:
    """The tools' own words: no number here is anybody's but theirs."""
    result = judged.of(GateName.MUTATION)
    lines = [f"Commit: {judged.commit}", ""]
    if result is None:
        why = "; ".join(finding.message for finding in judged.findings) or "the gate was not asked"
        return "\n".join([*lines, f"Status: BLOCKED, the mutants were not run: {why}", ""])
    lines += ["Status: " + ("NOT_RUN" if not result.evidence else "VERIFIED: the tool ran to its end"), ""]
    told = [("Score", [result.score.told] if result.score else []), ("Runs", [e.summary for e in result.evidence])]
    told += [("Findings", [finding.message for finding in result.findings])]
    told += [("Mutants that live", [f"{one.told}\n\n```diff\n{one.diff}\n```" for one in result.survivors])]
    told += [("Not verified", result.unverified), ("Notes", result.notes)]
    for title, each in told:
        lines += [f"## {title}", "", *(f"- {line}" for line in each), ""] if each else []
    return "\n".join(lines)
