"""The three loops (F4, F5). No agent knows of them: it reads what it is given and says what it has to say.

A loop goes on as long as the critic finds what its author could cure. It ends by the critic's word, or when the run has
used its budget of time, turns and money ([budget] run_…); what is open then stands on record. A critic that could not
review ends the run (critics.py): a person is asked.
"""

from itertools import count

from damascus.engine.flow.authors import also_asked, author_tests, fix, implement, nothing_to_fix
from damascus.engine.flow.critics import critique_code, critique_tests
from damascus.engine.flow.hardening import mutate
from damascus.engine.flow.inputs import Subtask
from damascus.engine.flow.work import Work


def test_loop(work: Work, subtask: Subtask) -> None:
    """The test-author writes, the test-critic reviews; then the tests are accepted."""
    critique = None
    for turn in count(1):
        author_tests(work, subtask, turn, critique)
        critique = critique_tests(work, subtask, turn)
        if critique is None or not critique.asks_for_more or work.is_spent(f"tests {subtask.number}", critique):
            break
    work.accept_tests(critique)


def code_loop(work: Work, subtask: Subtask) -> None:
    """The code-implementer writes, the code-critic reviews."""
    critique = None
    for turn in count(1):
        implement(work, subtask, turn, critique)
        critique = critique_code(work, subtask, turn)
        if critique is None or not critique.asks_for_more or work.is_spent(f"code {subtask.number}", critique):
            break
    work.keep_open(critique)


def hardening_loop(work: Work) -> None:
    """Mutants are run; the fixer works on those that live and on what critics left; what it changed is run again."""
    for turn in count(1):
        asked = also_asked(mutate(work, turn), work.take_open())
        if asked is None or not fix(work, turn, asked) or work.is_spent("hardening"):
            break
    if turn == 1 and asked is None:
        nothing_to_fix(work)
