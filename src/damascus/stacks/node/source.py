"""A JavaScript or TypeScript test file, read by its calls: which suites hold which tests, and what each could fail by.

No syntax tree: comments and strings are blanked out, then brackets tell where each call ends. A test whose name is made
at run time, or that stands inside a condition, a loop or a function, is there but not certain to be reported.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise

from damascus.stacks import negative
from damascus.stacks.code_text import JAVASCRIPT, LONGEST_GAP, without_comments, without_comments_and_strings
from damascus.stacks.written import WrittenFile, WrittenTest

HEAD = re.compile(
    r"(?<![\w.$])(?P<x>[xf]?)(?P<word>it|test|describe|suite|context)(?P<rest>(?:\.\w{1,30}){0,4})[ \t]*(?=\()"
)
NAME = re.compile(r"""\(\s{0,200}(?P<quote>['"`])(?P<name>(?:[^\\'"`\n]|\\.|(?!(?P=quote))['"`]){1,1000}+)(?P=quote)""")
UNNAMED = re.compile(r"\(\s{0,200}[\w.$`+ ]{1,200}+,")
"""`test(name, …)`: a name that is no literal."""
GAP = re.compile(r"\s{0,200}\(")
BRACKETS = re.compile(r"[(){}]")
SKIPS = re.compile(
    r"\.(?:skip|todo|fixme|failing|fails|only|skipIf|runIf)\b|(?<![\w.])[xf](?:it|test|describe)\s{0,20}\("
    r"|[{,]\s{0,20}(?:skip|todo|only)\s{0,20}:"
)
ASSERTS = re.compile(
    r"\b\w{0,40}(?:assert|Assert|expect|Expect|should|verif|Verif|check|Check|ensure)\w{0,40}\b(?:\.\w{1,40}){0,3}|\bthrow\b"
    r"|\bt\.(?:is|true|false|truthy|falsy|deepEqual|equal|same|throws|fail|plan|rejects|like|snapshot)\b"
    r"|(?<![\w$])(?<!to\.)(?<!be\.)(?<!not\.)(?<!deep\.)(?:(?:not)?(?:[eE]qual|[sS]trictEqual|[dD]eepEqual"
    r"|[dD]eepStrictEqual)|throws|doesNotThrow|rejects|doesNotReject|doesNotMatch|ifError)\s{0,20}\("
    r"|(?:(?<![\w$.])|(?<=\)\.))ok\s{0,20}\("
    r"|(?<![\w$.])process\.(?:exit\(\s{0,20}+(?!0?\s{0,20}\))|exitCode\s{0,20}=(?!=)\s{0,20}+(?!0\b)|abort\()"
)
"""The last ones: methods of node's own assert, by whatever name or import it is reached (chai's chains count once), and
a process that ends as failed."""
SUITES = ("describe", "suite", "context")
MADE = (".each", ".for")


@dataclass(frozen=True)
class Head:
    """A call that names a test or a suite: from `start` to the bracket that closes it."""

    start: int
    end: int
    name: str
    suite: bool
    certain: bool
    braces: int
    """How many `{` stand open around it."""
    skips: int


def read_calls_of(source: str) -> WrittenFile:
    code = without_comments_and_strings(source, JAVASCRIPT)
    readable = without_comments(source, JAVASCRIPT)
    heads = _heads(code, readable)
    tests: dict[str, WrittenTest] = {}
    above: list[Head] = []
    inside: list[tuple[int, int]] = []
    for head in heads:
        if inside and head.start < inside[-1][1]:
            # A test inside of a test is the outer one's matter: its runner may not even see it.
            continue
        while above and head.start >= above[-1].end:
            above.pop()
        if head.suite:
            above.append(head)
            continue
        suites = [each for each in above if each.suite]
        name = " > ".join([*(each.name for each in suites), head.name])
        certain = all(each.certain for each in [*suites, head]) and head.braces <= len(suites)
        test = _test(name, head, readable, code)
        skips = test.skips + sum(suite.skips for suite in suites)
        tests[name] = replace(test, skips=skips, certain=certain)
        inside.append((head.start, head.end))
    return WrittenFile(tests, len(SKIPS.findall(_outside(code, inside))))


def _outside(code: str, tests: list[tuple[int, int]]) -> str:
    edges = [0, *(edge for start, end in tests for edge in (start, max(start, end))), len(code)]
    return " ".join(code[start:end] for start, end in list(pairwise(edges))[::2] if start < end)


def _heads(code: str, readable: str) -> list[Head]:
    brackets = Brackets.of(code)
    found = []
    for head in HEAD.finditer(code):
        opening, made = head.end(), any(word in head["rest"] for word in MADE)
        if made:
            # it.each(table)(name, …): the call that names it is the next one.
            gap = GAP.match(code, brackets.closing.get(opening, opening))
            opening = gap.end() - 1 if gap else opening
        name = NAME.match(readable, opening)
        if name is None and (made or not UNNAMED.match(code, opening)):
            continue
        found.append(
            Head(
                start=head.start(),
                end=brackets.closing.get(opening, len(code)),
                name=_name(name, readable) if name else "?",
                suite=head["word"] in SUITES,
                certain=name is not None and not made and _literal(name, readable),
                braces=brackets.depth_at(head.start()),
                skips=len(SKIPS.findall(_until_the_function(code[head.start() : opening + LONGEST_GAP]))),
            )
        )
    return found


def _name(name: re.Match[str], readable: str) -> str:
    """`'REQ-001 ' + kind`: what is added to it is known when it runs."""
    added = readable[name.end() : name.end() + LONGEST_GAP].lstrip()[:1] == "+"
    return name["name"] + ("${}" if added else "")


def _literal(name: re.Match[str], readable: str) -> bool:
    """The whole name stands there: no `${…}` in it, nothing added to it."""
    behind = readable[name.end() : name.end() + LONGEST_GAP].lstrip()[:1]
    return behind in (",", ")") and not (name["quote"] == "`" and "${" in name["name"])


def _until_the_function(text: str) -> str:
    ends = [at for word in ("=>", "function") if (at := text.find(word)) >= 0]
    return text[: min(ends)] if ends else text


@dataclass(frozen=True)
class Brackets:
    """Where each `(` is closed (behind its bracket), and how many braces are open behind each bracket."""

    closing: dict[int, int]
    places: list[int]
    depths: list[int]

    @classmethod
    def of(cls, code: str) -> "Brackets":
        closing: dict[int, int] = {}
        open_round: list[int] = []
        places, depths, depth = [], [], 0
        for bracket in BRACKETS.finditer(code):
            match bracket[0]:
                case "(":
                    open_round.append(bracket.start())
                case ")" if open_round:
                    closing[open_round.pop()] = bracket.end()
                case "{":
                    depth += 1
                case "}":
                    depth = max(0, depth - 1)
            places.append(bracket.start())
            depths.append(depth)
        return cls(closing, places, depths)

    def depth_at(self, place: int) -> int:
        before = bisect_left(self.places, place)
        return self.depths[before - 1] if before else 0


def _test(name: str, head: Head, readable: str, code: str) -> WrittenTest:
    text, bare = readable[head.start : head.end], code[head.start : head.end]
    asserts = len(ASSERTS.findall(bare))
    body = " ".join(text[text.find(head.name) + len(head.name) :].split())
    return WrittenTest(
        name=name, text=name, skips=len(SKIPS.findall(bare)), asserts=asserts, can_fail=asserts > 0, body=body,
        negative=negative.NODE.search(bare) is not None,
    )  # fmt: skip
