"""A Go test file, read by its words: comments and strings are blanked out, the rest is code."""

import re

from damascus.stacks import negative
from damascus.stacks.code_text import GO, without_comments, without_comments_and_strings
from damascus.stacks.written import WrittenFile, WrittenTest

HEAD = re.compile(
    r"^func (?P<name>(?!TestMain\()(?:Test|Fuzz|Example)(?![a-z])\w{0,300})\((?P<given>[^)\n]{0,200})\)", re.M
)
HANDLE = re.compile(r"\b(\w{1,50})\s{1,5}\*?testing\.(?:T|B|F|TB)\b")
SKIPS = re.compile(r"\.(?:Skip|Skipf|SkipNow)\(|\btesting\.Short\(")
CONSTRAINT = re.compile(r"^//go:build .*|^// \+build .*", re.M)
FAILS = r"(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\("
OTHERS = (
    r"\b(?:assert|require|is)\.\w{1,50}\(|\bpanic\(|\blog\.Fatal\w{0,5}\(|\.Run\([^,\n]{0,300},[ \t]{0,20}(?!func\b)\w"
)
OUTPUT = re.compile(r"//\s{0,20}(?:unordered )?output:", re.IGNORECASE)


def read(source: str) -> WrittenFile:
    """A test is what stands between its `func` and the brace that closes it at the start of a line."""
    code, readable = without_comments_and_strings(source, GO), without_comments(source, GO)
    heads = list(HEAD.finditer(code))
    ends = [*(head.start() for head in heads[1:]), len(code)]
    tests: dict[str, WrittenTest] = {}
    inside = 0
    for head, following in zip(heads, ends, strict=False):
        closed = code.find("\n}", head.end(), following)
        end = closed if closed >= 0 else following
        test = _test(head, code[head.end() : end], readable[head.end() : end], source[head.end() : end])
        tests[test.name] = test
        inside += test.skips
    outside = len(SKIPS.findall(code)) - inside + len(CONSTRAINT.findall(source))
    return WrittenFile(tests, max(0, outside))


def _test(head: re.Match[str], code: str, readable: str, source: str) -> WrittenTest:
    """It can fail where somebody calls a method of its `t` that fails, or is given that `t`."""
    example = head["name"].startswith("Example")
    checked = example and OUTPUT.search(source) is not None
    handles = dict.fromkeys(HANDLE.findall(head["given"] + " " + code))
    asserts = len(_asserting(tuple(handles)).findall(code)) + checked
    return WrittenTest(
        name=head["name"],
        text=head["name"],
        skips=len(SKIPS.findall(code)),
        asserts=asserts,
        can_fail=asserts > 0,
        body=" ".join(readable.split()),
        certain=checked if example else bool(handles) and "testing." in head["given"],
        negative=negative.GO.search(code) is not None,
    )


def _asserting(handles: tuple[str, ...]) -> re.Pattern[str]:
    if not handles:
        return re.compile(OTHERS)
    names = "|".join(handles[:20])
    return re.compile(rf"\b(?:{names})\.{FAILS}|[(,][ \t]{{0,20}}(?:{names})[ \t]{{0,20}}[,)]|{OTHERS}")
