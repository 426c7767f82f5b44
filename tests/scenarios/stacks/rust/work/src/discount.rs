pub fn percent(cents: u32) -> u32 {
    if cents >= 10_000 {
        return 10;
    }
    0
}

pub fn after_discount(cents: u32) -> u32 {
    cents - cents * percent(cents) / 100
}
