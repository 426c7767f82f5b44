"""A rough spec names no files, the refined one does: the story then holds those, and only those (Promise 5)."""

import signal

import pytest

from tests.crash.field import Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act


@pytest.mark.req("D20", "D19")
def test_the_scope_of_the_refined_spec_is_the_one_that_is_held(field: Field) -> None:
    field.add("S-1", rough=True)
    worker = field.start(Act("prepare:before", "stop"))
    worker.wait_stopped()

    held = field.yard.query("SELECT lower(span) AS path FROM active_scopes ORDER BY 1")

    assert [row["path"].partition(":")[2] for row in held] == ["S-1.sh", "tests/test_S-1.sh"]
    worker.signal(signal.SIGCONT)
    assert worker.end() == 0, worker.told()
    check_landed_once(field, "S-1", rough=True)
    check_invariants(field)
