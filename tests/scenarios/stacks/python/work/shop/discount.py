def percent(cents: int) -> int:
    if cents >= 10_000:
        return 10
    return 0


def after_discount(cents: int) -> int:
    return cents - cents * percent(cents) // 100
