"""Those who write: test-author, code-implementer, fixer, doc-writer. Each goes on with the files of the one before.

Each says what it changed, what is weak and what is open; git says which files. What a role may not write is refused
while it works and looked for again in git's diff (writes/bounds.py): then the attempt has failed.
"""

from damascus import stacks
from damascus.domain.critique import Critique
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.roles import Role
from damascus.domain.scope import Scope
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.context import scoped
from damascus.engine.flow.carried import carry
from damascus.engine.flow.inputs import ONCE, WHOLE, Subtask
from damascus.engine.flow.papers import leave, left_out, say, summary
from damascus.engine.flow.work import Work
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import IMPLEMENT, Made
from damascus.writes.bounds import is_doc

AUTHOR_TESTS = Step(
    "author_tests", Phase.BUILD, StepKind.AGENT, Made, "the test-author writes tests, and nothing but tests",
    role=Role.TEST_AUTHOR,
)  # fmt: skip
FIX = Step(
    "fix", Phase.BUILD, StepKind.AGENT, Made, "the fixer works on mutants that live and on what critics left",
    role=Role.FIXER,
)  # fmt: skip
DOCS = Step(
    "docs", Phase.BUILD, StepKind.AGENT, Made, "the doc-writer, where documentation is in the scope",
    role=Role.DOC_WRITER,
)  # fmt: skip
AUTHORS = (AUTHOR_TESTS, IMPLEMENT, FIX, DOCS)


def author_tests(work: Work, subtask: Subtask, turn: int, critique: Critique | None) -> None:
    if work.skips(AUTHOR_TESTS):
        left_out(work, AUTHOR_TESTS)
        return
    _written(work, AUTHOR_TESTS, subtask, f"{subtask.number}.{turn}", _asked_by(critique))


def implement(work: Work, subtask: Subtask, turn: int, critique: Critique | None) -> None:
    _written(work, IMPLEMENT, subtask, f"{subtask.number}.{turn}", _asked_by(critique))


def fix(work: Work, turn: int, asked: VerdictFeedback) -> bool:
    """Did it change anything?"""
    if work.skips(FIX):
        left_out(work, FIX)
        return False
    before = work.at.start
    _written(work, FIX, WHOLE, str(turn), asked)
    return work.at.start != before


def docs(work: Work) -> None:
    if work.skips(DOCS):
        left_out(work, DOCS)
    elif not _documents(work):
        leave(work, DOCS, "No documentation is in the story's scope.\n")
    else:
        _written(work, DOCS, WHOLE, ONCE, None)


def _written(work: Work, step: Step[Made], subtask: Subtask, key: str, asked: VerdictFeedback | None) -> None:
    def leaves(done: Made) -> None:
        leave(work, step, summary(done), subtask)
        carry(work.run, done.commit, done.base)

    made = work.send(step, key, subtask=subtask, feedback=asked, leaves=leaves)
    say(work, step, summary(made), subtask)
    work.goes_on_with(made)


def _asked_by(critique: Critique | None) -> VerdictFeedback | None:
    if critique is None:
        return None
    ids = sorted({concern.requirement for concern in critique.concerns if concern.requirement})
    return VerdictFeedback(message="\n".join(f"- {concern.told}" for concern in critique.concerns), requirements=ids)


def _documents(work: Work) -> list[str]:
    """Documentation that is there, or that the scope names."""
    scope, patterns = Scope(work.run.item.file_scope), work.config.test.patterns
    there = [path for path, _ in scoped(work.run.tools.mirror, Sha(work.at.start or work.at.base), scope)]
    return [path for path in (*there, *scope.patterns) if is_doc(path) and not stacks.is_test(path, patterns)]


# ── what a fixer is asked ─────────────────────────────────────────────────────────────────────────────


def also_asked(found: VerdictFeedback | None, concerns: list[str]) -> VerdictFeedback | None:
    """What the mutants showed, and what critics left."""
    if not concerns:
        return found
    listed = "\n".join(f"- {concern}" for concern in concerns)
    message = f"{found.message}\n{listed}" if found else listed
    return (found or VerdictFeedback()).model_copy(update={"message": message})


def nothing_to_fix(work: Work) -> None:
    if not work.skips(FIX):
        leave(work, FIX, "Nothing was left to fix: no mutant lives, and no critic left a concern.\n")
