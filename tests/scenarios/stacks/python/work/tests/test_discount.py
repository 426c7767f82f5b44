import pytest

from shop.discount import after_discount, percent


@pytest.mark.parametrize(("cents", "asked"), [(9_999, 0), (10_000, 10)])
def test_REQ_001_a_large_order_gets_ten_per_cent(cents, asked):
    assert percent(cents) == asked


def test_REQ_002_the_discount_is_taken_off():
    assert after_discount(20_000) == 18_000
    assert after_discount(5_000) == 5_000
