use shop::discount::{after_discount, percent};

#[test]
fn req_001_large_orders() {
    assert_eq!(percent(9_999), 0);
    assert_eq!(percent(10_000), 10);
}

#[test]
fn req_002_is_taken_off() {
    assert_eq!(after_discount(20_000), 18_000);
    assert_eq!(after_discount(5_000), 5_000);
}
