from shop.cart import total


def test_total():
    assert total([3, 4]) == 7
