"""examples/shop: eight tasks in two stacks are built from their graph, as its README tells one to."""

import pytest

from tests.examples.example import LANDED, Example
from tests.examples.shop import TASKS, check_built


@pytest.mark.req("A1.3", "A8.1", "A9.1")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("example", ["shop"], indirect=True)
def test_the_shop_is_built_from_its_task_graph(example: Example) -> None:
    told = example.follow_readme()
    assert sorted(LANDED.findall(told)) == TASKS == sorted(example.landed_in_readme)
    assert "CONDITIONAL: " in told and "contracts 19/19; coverage 100 %" in told
    check_built(example)
