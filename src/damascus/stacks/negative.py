"""Negative cases: tests that assert a refusal or a failure, by what stands in their source.

Each stack has its own words for it (docs/receipts.md). A test may also say so itself: by the word `negative` in its
name, a marker or its docstring. Either way it must be able to fail, and pass.
"""

import re

NAMED = re.compile(r"(?<![A-Za-z0-9])negative(?![A-Za-z0-9])", re.IGNORECASE)
NODE = re.compile(
    r"\.(?:toThrow\w{0,40}|rejects|throws|throw|rejectedWith|throwsAsync)\b"
    r"|(?<![\w$.])(?:throws|rejects)\s{0,20}\("
)
GO = re.compile(
    r"\berr\w{0,30}\s{0,5}==\s{0,5}nil\b|\berrors\.(?:Is|As)\(|\b(?:assert|require|is)\.(?:Error|ErrorIs|ErrorAs"
    r"|ErrorContains|EqualError|Panics\w{0,20})\(|\brecover\(\)"
)
RUST = re.compile(r"should_panic|\.is_err\(|\.unwrap_err\(|\.expect_err\(|\bErr\(|\bassert_err\w{0,20}!|catch_unwind")


def named_negative(text: str) -> bool:
    return NAMED.search(text) is not None
