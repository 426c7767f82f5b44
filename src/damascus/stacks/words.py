"""Reading tests by their words, for languages that Python can't parse. Every expression here is linear in time.

It sees what a line says, not what a program does: a test is the text from its head to the next head. A skip
that belongs to the suite below may be told of the test above; the file is refused either way.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass

from damascus.stacks.stack import WrittenFile, WrittenTest


@dataclass(frozen=True)
class Words:
    """`head` starts a test and names it in the group `name`; `suite` names what holds the tests below it."""

    head: re.Pattern[str]
    skips: re.Pattern[str]
    asserts: re.Pattern[str]
    suite: re.Pattern[str] | None = None
    comment: str = "//"


def read_words(source: str, words: Words) -> WrittenFile:
    code = without_comments(source, words.comment)
    heads = list(words.head.finditer(code))
    suites = list(words.suite.finditer(code)) if words.suite else []
    tests: dict[str, WrittenTest] = {}
    ends = [*(head.start() for head in heads[1:]), len(code)]
    for head, end in zip(heads, ends, strict=False):
        part = code[head.start() : end]
        above = bisect_left(suites, head.start(), key=lambda suite: suite.start())
        suite = suites[above - 1]["name"] if above else ""
        tests[head["name"]] = _test(head["name"], suite, part, words)
    top = code[: heads[0].start()] if heads else code
    return WrittenFile(tests, len(words.skips.findall(top)))


def _test(name: str, suite: str, part: str, words: Words) -> WrittenTest:
    asserts = len(words.asserts.findall(part))
    body = " ".join(part[part.find(name) + len(name) :].split())
    return WrittenTest(name, f"{suite} {name}", len(words.skips.findall(part)), asserts, asserts > 0, body)


def without_comments(source: str, mark: str) -> str:
    """Whole-line comments and blocks are gone: a commented-out assertion asserts nothing."""
    if mark == "//":
        source = _without_blocks(source)
    return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(mark))


def _without_blocks(source: str) -> str:
    kept, at = [], 0
    while (start := source.find("/*", at)) >= 0:
        end = source.find("*/", start + 2)
        if end < 0:
            break
        kept.append(source[at:start])
        at = end + 2
    return "".join([*kept, source[at:]])
