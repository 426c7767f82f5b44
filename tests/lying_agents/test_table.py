"""docs/lying-agents.md tells every tale that is played, and no other."""

import pytest

from damascus.domain.verdict import Verdict
from damascus.lab.catalogue import LIES
from damascus.lab.honest import TALES
from tests.lying_agents.table import LAB, PAGE, families, tables, written

OF_SPEC_AND_WORKER = {Verdict.SPEC_AMBIGUOUS, Verdict.SPEC_WRONG, Verdict.WORKER_CRASH}
BY_OTHERS = {Verdict.REVIEW_REJECTED, Verdict.PAGE_NOT_ACCEPTED}
"""A critic's word, and a person's: no gate finds these."""
BESIDE_THE_LAB = {Verdict.REGRESSION, Verdict.PLAN_FAULTY}
"""The one needs a story that landed before (tests/engine/test_impact.py), the other a plan (tests/engine/test_plan.py):
a lie of the lab is one story alone, and builds."""


@pytest.mark.req("W22")
def test_the_page_has_exactly_these_tables() -> None:
    assert written(PAGE)[1] == tables(), "write it anew: python -m tests.lying_agents.table"
    assert written(LAB, "families")[1] == families(), "write it anew: python -m tests.lying_agents.table"


def test_there_are_enough_and_each_has_its_own_name() -> None:
    slugs = [tale.slug for tale in (*LIES, *TALES)]
    assert len(LIES) >= 20
    assert len({lie.slug for lie in LIES}) == len(LIES)
    assert len({tale.slug for tale in TALES}) == len(TALES)
    assert all(slugs)


def test_every_verdict_on_an_attempt_is_earned_by_a_lie() -> None:
    """A verdict that later gates add needs a lie that it stops."""
    assert {lie.verdict for lie in LIES} == (
        set(Verdict) - OF_SPEC_AND_WORKER - BY_OTHERS - BESIDE_THE_LAB - {Verdict.PASSED}
    )
