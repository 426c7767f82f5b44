"""A Rust source, read for its tests by their attributes."""

import re

from damascus.stacks import negative
from damascus.stacks.code_text import RUST, without_comments, without_comments_and_strings
from damascus.stacks.words import marks_above
from damascus.stacks.written import WrittenFile, WrittenTest

HEAD = re.compile(
    r"#\[(?:\w{1,50}::){0,5}test\b[^\]\n]{0,300}\](?:\s{0,100}#\[[^\]\n]{0,300}\]){0,20}+\s{0,100}"
    r"(?:pub\s{1,9})?(?:async\s{1,9})?fn\s{1,9}(?P<name>\w{1,300})"
)
SKIPS = re.compile(r"#\[ignore\b|#!?\[cfg\((?!test\))|#\[cfg_attr\([^\n]{0,200}\bignore\b")
ASSERTS = re.compile(
    r"\b(?:debug_)?assert\w{0,50}!|\bpanic!|\bunreachable!|\.unwrap\(|\.expect\(|should_panic|\?;|\bErr\("
)
PLATFORM = re.compile(r"#\[cfg\([^\n]{0,200}\b(?:windows|unix|target_\w{1,20}|feature|miri|loom)\b")


def read(source: str) -> WrittenFile:
    code, readable = without_comments_and_strings(source, RUST), without_comments(source, RUST)
    heads = list(HEAD.finditer(code))
    starts = [head.start() - len(marks_above(code, head.start(), "#[")) for head in heads]
    tests: dict[str, WrittenTest] = {}
    for head, start, end in zip(heads, starts, [*starts[1:], len(code)], strict=False):
        tests[head["name"]] = _test(head["name"], code[start:end], " ".join(readable[head.end() : end].split()))
    return WrittenFile(tests, len(SKIPS.findall(code[: starts[0]] if starts else code)))


def _test(name: str, code: str, body: str) -> WrittenTest:
    asserts = len(ASSERTS.findall(code))
    certain = PLATFORM.search(code.partition("fn ")[0]) is None
    says_no = negative.RUST.search(code) is not None
    return WrittenTest(name, name, len(SKIPS.findall(code)), asserts, asserts > 0, body, certain, negative=says_no)
