"""Gate coverage in Rust, by the compiler's instruments and an LLVM that reads them."""

from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from tests.gates.coverage_projects import ALONE, REFUSED, judge
from tests.gates.judging import Judging, verdicts
from tests.toolchains import need_program

RUST_CODE = """pub fn price(count: i64) -> i64 {
    if count > 10 {
        let unit = 2;
        let unit = unit + 1;
        let unit = unit - 1;
        return count * unit;
    }
    count * 3
}
"""
RUST_TEST = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_001() {
        assert_eq!(price(1), 3);
    }
TWO}
"""
RUST_TWO = "\n    #[test]\n    fn req_002() {\n        assert_eq!(price(20), 40);\n    }\n"
RUST_BASE = {
    "Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 4\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n',
    "src/lib.rs": "",
}


@pytest.mark.req("A16")
def test_rust_is_measured_where_an_llvm_reads_its_profiles_and_listed_by_name_elsewhere(tmp_path: Path) -> None:
    need_program("cargo")
    judging = Judging.of(tmp_path, RUST_BASE)

    def judged(two: str, config: str = ALONE) -> GateResult:
        return judge(judging, {"src/lib.rs": RUST_CODE + RUST_TEST.replace("TWO", two)}, "cargo test --offline", config)

    half, whole = judged(""), judged(RUST_TWO)
    if half.unverified:
        assert "reads the profiles of rustc" in half.unverified[0] and half.unverified == whole.unverified
        assert verdicts(judged("", ALONE + "required = true\n")) == REFUSED
        return
    assert verdicts(whole) == [] and "6 of 6 changed lines" in whole.evidence[0].summary, whole
    assert verdicts(half) == REFUSED and "src/lib.rs:3-6" in half.findings[0].message
