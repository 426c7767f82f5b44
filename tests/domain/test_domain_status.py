"""Task-graph words are a projection of the row (A1)."""

import pytest

from damascus.domain.verdict import Phase, TaskStatus, task_status

WORDS = {
    (Phase.BUILD, False): TaskStatus.PENDING,
    (Phase.SPEC, False): TaskStatus.PENDING,
    (Phase.BUILD, True): TaskStatus.IN_PROGRESS,
    (Phase.REVIEW, True): TaskStatus.IN_PROGRESS,
    (Phase.MERGE, True): TaskStatus.IN_PROGRESS,
    (Phase.DONE, True): TaskStatus.DONE,
    (Phase.BLOCKED, True): TaskStatus.BLOCKED,
    (Phase.BLOCKED, False): TaskStatus.BLOCKED,
    (Phase.CANCELLED, False): TaskStatus.BLOCKED,
    (Phase.STALE, True): TaskStatus.STALE,
}


@pytest.mark.req("A1")
@pytest.mark.parametrize(("phase", "started"), WORDS)
def test_the_word_of_a_row(phase: Phase, started: bool) -> None:
    assert task_status(phase, started) == WORDS[phase, started]


@pytest.mark.req("A1")
def test_every_phase_has_a_word() -> None:
    assert {phase for phase, _ in WORDS} == set(Phase)
    assert [s.value for s in TaskStatus] == ["PENDING", "IN-PROGRESS", "DONE", "BLOCKED", "STALE"]
