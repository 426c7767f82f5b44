"""Every id that this release delivers has a test that names it."""

from tests.rules.tree import document, proved

DELIVERED = {
    *(f"D{n}" for n in range(1, 22)),
    *(f"T{n}" for n in range(1, 8)),
    *(f"W{n}" for n in range(1, 23)),
    *(f"A{n}" for n in range(1, 18)),
    *(f"F{n}" for n in range(1, 15)),
    "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X15", "X16", "X17", "X18",
}  # fmt: skip


def test_every_delivered_id_has_a_test_that_names_it() -> None:
    assert sorted(DELIVERED - proved()) == []


def test_no_test_names_an_id_that_is_not_delivered_here() -> None:
    """A later release adds its ids to DELIVERED with its tests; a typing error is found now."""
    assert sorted(proved() - DELIVERED) == []


def test_the_rules_for_users_are_there() -> None:
    assert "forbidden moves" in document("docs/VERIFICATION.md")
