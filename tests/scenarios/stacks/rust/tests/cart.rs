#[test]
fn total() {
    assert_eq!(shop::total(&[3, 4]), 7);
}
