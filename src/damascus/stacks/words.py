"""Reading tests by their words, for a source that its language can't parse. Every expression here is linear in time.

It sees what a line says, not what a program does: a test is the text from its head to the next head. A skip
that belongs to the suite below may be told of the test above; the file is refused either way.
"""

import re
from dataclasses import dataclass

from damascus.stacks.written import WrittenFile, WrittenTest

ABOVE = 400
"""How far above the head of a test its attributes or decorators are looked for."""


@dataclass(frozen=True)
class Words:
    """`head` starts a test and names it in the group `name`; lines above it that start with `mark` belong to it."""

    head: re.Pattern[str]
    skips: re.Pattern[str]
    asserts: re.Pattern[str]
    comment: str
    mark: str


def read_words(source: str, words: Words) -> WrittenFile:
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(words.comment))
    heads = list(words.head.finditer(code))
    starts = [head.start() - len(marks_above(code, head.start(), words.mark)) for head in heads]
    tests: dict[str, WrittenTest] = {}
    for head, start, end in zip(heads, starts, [*starts[1:], len(code)], strict=False):
        part = code[start:end]
        asserts = len(words.asserts.findall(part))
        body = " ".join(code[head.end() : end].split())
        name = head["name"]
        tests[name] = WrittenTest(name, name, len(words.skips.findall(part)), asserts, asserts > 0, body)
    return WrittenFile(tests, len(words.skips.findall(code[: starts[0]] if starts else code)))


def marks_above(code: str, at: int, mark: str) -> str:
    """The lines right above a place that are blank or start with the mark."""
    lines = code[max(0, at - ABOVE) : at].splitlines(keepends=True)
    kept: list[str] = []
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith(mark)):
        kept.insert(0, lines.pop())
    return "".join(kept)
