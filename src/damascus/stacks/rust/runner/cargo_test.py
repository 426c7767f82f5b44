"""`cargo`: for `cargo test …` and `cargo nextest …` the real one, each test binary started through rust_binary."""

import os
import platform
import subprocess
import sys

from damascus.stacks.runners.cargo_lines import CargoLines
from damascus.stacks.runners.record import ReportFile, exit_as, next_program

TESTING = ("test", "t", "nextest", "llvm-cov")
LIBRARIES = ("gnu", "musl")


def main(ours: str, words: "list[str]") -> int:
    real = next_program("cargo", ours)
    if real is None:
        print("cargo: not found", file=sys.stderr)
        return 127
    if not any(word in TESTING for word in words) or "--no-run" in words:
        os.execve(real, [real, *words], dict(os.environ))
    record = ReportFile("cargo", words, os.getcwd())
    runner = os.path.join(os.path.dirname(ours), "rust-binary", "rust-binary")
    lines = CargoLines(ours)
    code = exit_as(subprocess.call([real, *words], env={**os.environ, **_runners(runner), **lines.env}))
    lines.keep()
    record.end(code)
    return code


def _runners(runner: str) -> "dict[str, str]":
    """cargo's own way to start what it built by another program, for the machine's own targets."""
    machine = platform.machine().upper()
    return {f"CARGO_TARGET_{machine}_UNKNOWN_LINUX_{name.upper()}_RUNNER": runner for name in LIBRARIES}
