"""docs/sandbox.md says what the suite found, line by line."""

import pytest

from tests.escape.table import table, written


@pytest.mark.req("D6", "W9")
def test_the_page_tells_what_the_suite_proves() -> None:
    before, middle, after = written()
    assert middle == table(), "write it anew: python -m tests.escape.table"
    assert before and after
