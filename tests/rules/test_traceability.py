"""Every id that this release delivers has a test that names it."""

from tests.rules.tree import document, proved

DELIVERED = {
    *(f"D{n}" for n in range(1, 22) if n != 5),
    *(f"T{n}" for n in range(1, 8)),
    *(f"W{n}" for n in (1, 3, 4, 5, 14, 15, 16, 19, 22)),
    "F13", "F14", "X1", "X2", "X3", "X4", "A1",
}  # fmt: skip


EARLIER = {
    *(f"A{n}" for n in range(10, 15)), *(f"W{n}" for n in (8, 9, 10, 11, 12, 17, 18, 21)),
    "D5", "F3", "X5", "X10",
}  # fmt: skip
"""Of later releases, proved already by what is there."""


def test_every_delivered_id_has_a_test_that_names_it() -> None:
    assert sorted(DELIVERED - proved()) == []


def test_no_test_names_an_id_that_is_not_delivered_here() -> None:
    """A later release adds its ids to DELIVERED with its tests; a typing error is found now."""
    assert sorted(proved() - DELIVERED - EARLIER) == []


def test_the_rules_for_users_are_there() -> None:
    assert "forbidden moves" in document("docs/VERIFICATION.md")
