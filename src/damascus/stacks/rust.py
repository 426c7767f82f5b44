"""Rust: cargo test. Tests inside src/ share a file with the code, so they can't be shown red: use tests/."""

import re
from collections.abc import Collection

from damascus.stacks.stack import Stack, WrittenFile, paths
from damascus.stacks.words import Words, read_words

WORDS = Words(
    head=re.compile(r"#\[(?:\w+::)*test\b[^\]\n]*\](?:\s*#\[[^\]\n]*\])*\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"),
    skips=re.compile(r"#\[ignore\b|#!?\[cfg\("),
    asserts=re.compile(r"\b(?:debug_)?assert\w*!|\bpanic!|\bunreachable!|\.unwrap\(|\.expect\(|should_panic|\?;"),
)


def command(listing: Collection[str]) -> str:
    return "cargo test"


def read(source: str) -> WrittenFile:
    return read_words(source, WORDS)


STACK = Stack(
    name="rust",
    roots=("Cargo.toml",),
    extensions=(".rs",),
    tests=paths(r"tests?\.rs"),
    judges=paths(r"\.cargo/.*", r"\.?clippy\.toml", r"\.config/nextest\.toml"),
    command=command,
    read=read,
)
