"""Rust: cargo test, cargo nextest. Tests may stand in the very files of the code."""

import re
from pathlib import Path

from damascus.stacks.rust.habits import HABITS
from damascus.stacks.stack import (
    CheckSettings,
    Fetched,
    Footprint,
    Later,
    Recipe,
    Reporting,
    Runner,
    Stack,
    Toolchain,
    paths,
    word,
)

HERE = Path(__file__).parent
ROOM = "damascus.stacks.rust"

FOOTPRINT = Footprint(
    lock_files=("Cargo.lock", "Cargo.toml", "rust-toolchain.toml", "rust-toolchain"),
    package_marks=(".cargo-checksum.json",),
    heavy=("target",),
)

TOOLCHAIN = Toolchain(
    programs=("cargo", "rustc"),
    homes={"RUSTUP_HOME": ".rustup"},
    below_home=(".rustup",),
    fetched=(Fetched("CARGO_HOME", ".cargo", "registry", secrets=("credentials", "credentials.toml")),),
    caches={"CARGO_TARGET_DIR": "cargo-target"},
    versions=(("rustc", "-vV"), ("cargo", "-V")),
)

CHECK = Recipe(
    "cargo",
    (".rs",),
    ("Cargo.toml",),
    ("check", "--quiet", "--locked", "--offline", "--message-format", "short"),
    needs=("Cargo.lock",),
    environment={"CARGO_TARGET_DIR": "{cache}/cargo"},
)
"""It would write its lock file into the checkout, so that has to be there."""

CHECK_SETTINGS = CheckSettings(
    own=paths(r"\.?clippy\.toml", r"\.cargo/config(?:\.toml)?"),
    parts={"Cargo.toml": ("lints", "workspace.lints")},
)

STACK = Stack(
    name="rust",
    roots=("Cargo.toml",),
    extensions=(".rs",),
    tests=paths(r"tests?\.rs"),
    judges=paths(r"\.cargo/.*", r"\.?clippy\.toml", r"\.config/nextest\.toml"),
    command=lambda listing: "cargo test",
    file_command=Later(f"{ROOM}.file_command:file_command"),
    read=Later(f"{ROOM}.source:read"),
    written=lambda name: name.rpartition("::")[2],
    tests_in_code=True,
    inner_tests=Later(f"{ROOM}.inner_tests:INNER_TESTS"),
    footprint=FOOTPRINT,
    toolchain=TOOLCHAIN,
    install=((r"can't find crate|no matching package named", lambda listing: "cargo fetch"),),
    commands=Later(f"{ROOM}.commands:commands"),
    check_settings=CHECK_SETTINGS,
    compiler=CHECK,
    runners=(
        Runner(
            "rust",
            line=re.compile(r"^test result: \w{1,20}\. [^\n]{0,300}$", re.M),
            leaves_out=("--exact", "--skip"),
            selects=Later(f"{ROOM}.cases:selects"),
            covers=Later(f"{ROOM}.cases:covers"),
            summary=Later(f"{ROOM}.printed:cargo_summary"),
        ),
        Runner("cargo", reports=False),
    ),
    named=re.compile(word(r"cargo[ \t]+(?:\+\S+[ \t]+)?(?:test|t|nextest)")),
    how="start it as `cargo test`, not by an absolute path",
    reporting=Reporting(
        files=(HERE / "runner/cargo_test.py", HERE / "runner/rust_binary.py"),
        programs={"cargo": "cargo_test"},
        beside={"rust-binary": "rust_binary"},
    ),
    habits=HABITS,
    cases=Later(f"{ROOM}.cases:CASES"),
    canaries=Later(f"{ROOM}.canaries:RUST"),
    mutants=Later(f"{ROOM}.functions:MUTANTS"),
    mutation_tool=Later(f"{ROOM}.cargo_mutants:CARGO_MUTANTS"),
    coverage=Later(f"{ROOM}.coverage:COVERAGE"),
    awareness=Later(f"{ROOM}.awareness:references"),
)
