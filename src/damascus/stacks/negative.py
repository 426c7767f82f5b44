"""Negative cases: tests that assert a refusal or a failure, by what stands in their source.

Each stack has its own words for it (docs/receipts.md); a test's name says nothing. It must be able to fail, and pass. A
promise that nobody waits for asserts nothing.
"""

import re

NODE = re.compile(
    r"\.(?:toThrow\w{0,40}|throws|throw)\b|(?<![\w$.])throws\s{0,20}\("
    r"|\b(?:await|return)\b[^;]{0,300}?\b(?:rejects|rejectedWith|throwsAsync)\b"
)
GO = re.compile(
    r"\berr\w{0,30}\s{0,5}==\s{0,5}nil\b|\berrors\.(?:Is|As)\(|\b(?:assert|require|is)\.(?:Error|ErrorIs|ErrorAs"
    r"|ErrorContains|EqualError|Panics\w{0,20})\(|\brecover\(\)"
)
RUST = re.compile(r"should_panic|\.is_err\(|\.unwrap_err\(|\.expect_err\(|\bErr\(|\bassert_err\w{0,20}!|catch_unwind")
