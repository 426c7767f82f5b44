"""Gate coverage in Rust, by the compiler's instruments and an LLVM that reads them."""

import os
import shutil
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from tests.gates.coverage_projects import ALONE, REFUSED, judge
from tests.gates.judging import Judging, verdicts
from tests.toolchains import need_llvm, need_program

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


BLIND_RUSTC = """#!/bin/sh
[ "$*" = "--print sysroot" ] && exec echo /nowhere
if [ "$*" = "-vV" ]; then {rustc} -vV | sed 's/^LLVM version: .*/LLVM version: 99.0.0/'; exit 0; fi
exec {rustc} "$@"
"""
"""A compiler for whose profiles no machine has an LLVM."""


def judged(judging: Judging, two: str, config: str = ALONE) -> GateResult:
    return judge(judging, {"src/lib.rs": RUST_CODE + RUST_TEST.replace("TWO", two)}, "cargo test --offline", config)


@pytest.mark.req("A16")
def test_rust_is_measured_where_an_llvm_reads_its_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_llvm(monkeypatch)
    judging = Judging.of(tmp_path, RUST_BASE)

    whole, half = judged(judging, RUST_TWO), judged(judging, "")
    assert (verdicts(whole), whole.unverified) == ([], []), whole
    assert "6 of 6 changed lines" in whole.evidence[0].summary, whole
    assert verdicts(half) == REFUSED and "src/lib.rs:3-6" in half.findings[0].message


@pytest.mark.req("A16")
def test_where_no_llvm_reads_them_it_is_listed_by_name_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_program("cargo")
    blind = tmp_path / "blind" / "rustc"
    blind.parent.mkdir()
    blind.write_text(BLIND_RUSTC.format(rustc=shutil.which("rustc")))
    blind.chmod(0o755)
    monkeypatch.setenv("PATH", f"{blind.parent}:{os.environ['PATH']}")
    judging = Judging.of(tmp_path / "project", RUST_BASE)

    half = judged(judging, "")
    assert (verdicts(half), half.unverified) == (
        [],
        ["coverage: rust: nothing here reads the profiles of rustc (LLVM 99): install llvm-99"],
    )
    assert verdicts(judged(judging, "", ALONE + "required = true\n")) == REFUSED
