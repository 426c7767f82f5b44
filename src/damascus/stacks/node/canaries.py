"""Failing tests in JavaScript and TypeScript files, by the word that the file itself uses for a test."""

import re
from collections.abc import Collection

from damascus.stacks.expectations import changed
from damascus.stacks.layer import Laid, Style
from damascus.stacks.made_up import MadeUp
from damascus.stacks.node.expectations import places

RUNNER = r"""['"](?:node:test|test|vitest|@jest/globals|bun:test|ava|tape|tap|mocha|uvu)['"]"""
IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+(?P<what>[^;'\"\n]{1,300}?)[ \t]+from[ \t]*" + RUNNER + r"|"
    r"(?:const|let|var)[ \t]+(?P<whats>[^;='\"\n]{1,300}?)[ \t]*=[ \t]*require\([ \t]*" + RUNNER + r"[ \t]*\)"
    r"(?P<member>\.\w+)?)[ \t]*;?",
    re.M,
)
NAMED = re.compile(r"\b(?:test|it)\b(?:[ \t]*(?:as|:)[ \t]*(?P<other>[\w$]+))?")
BRACES = re.compile(r"\{([^}]*)\}")
DEFAULT = re.compile(r"^[ \t]*([\w$]+)[ \t]*(?:,|$)")
USED = re.compile(r"(?<![\w.$])(it|test)(?=[ \t]*\()")
CALLBACK = re.compile(r"(?:=>|\bfunction\b[ \t]*[\w$]*[ \t]*\([^)\n]{0,300}\))[ \t]*\{")

ASSERTS = re.compile(r"(?<![\w.$])(?:assert(?:\.(?:ok|equal|strictEqual|deepEqual|deepStrictEqual))?|expect)\(")
TEST_HEAD = re.compile(
    r"(?<![\w.])[xf]?(?:it|test)(?:\.\w{1,50}){0,3}\(\s{0,100}"
    r"""(?P<quote>['"`])(?P<name>(?:\\.|(?!(?P=quote))[^\\\n]){1,300})(?P=quote)"""
)


class NodeLayer:
    endings = tuple(
        f"{mark}{end}"
        for mark in (".test", ".spec", "_test", "-test", "")
        for end in (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
    )

    def append(self, source: str, made: MadeUp, style: Style) -> Laid | None:
        call = _word(source)
        if call is None:
            return None
        text, names = _tests(call, made, style)
        return Laid(f"{source.rstrip()}\n\n{text}", names)

    def alone(self, like: str, made: MadeUp, style: Style) -> Laid | None:
        call = _word(like)
        if call is None:
            return None
        imports = "".join(f"{found[0].strip()}\n" for found in IMPORT.finditer(like))
        text, names = _tests(call, made, style)
        return Laid(f"{imports}\n{text}" if imports else text, names)

    def first_lines(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        heads = list(TEST_HEAD.finditer(source))
        ends = [*(head.start() for head in heads[1:]), len(source)]
        names, pieces, at = [], [], 0
        for head, end in zip(heads, ends, strict=True):
            body = CALLBACK.search(source, head.end(), min(end, head.end() + 500))
            if body is None or not any(head["name"] in test for test in tests):
                continue
            pieces += [source[at : body.end()], f" {_own_assertion(source[body.end() : end], made)}"]
            names.append(head["name"])
            at = body.end()
        return Laid("".join([*pieces, source[at:]]), tuple(names)) if names else None

    def expecting(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        asked = [place for place in places(source) if any(place.test in test for test in tests)]
        found = changed(source, asked, made)
        return Laid(*found) if found is not None else None


NODE = NodeLayer()


def _own_assertion(body: str, made: MadeUp) -> str:
    """A failing form of an assertion that the test uses, which may be somebody's own; else a throw."""
    first, second = made.two_numbers()
    used = {found[0].split("(")[0] for found in ASSERTS.finditer(body)}
    forms = [f"{word}({first}, {second});" for word in sorted(used) if word.endswith("qual")]
    forms += [f"expect({first}).toBe({second});"] if "expect" in used else []
    forms += [f"{word}({first} === {second + 0.5});" for word in ("assert", "assert.ok") if word in used]
    return made.one_of(forms) if forms else f"throw new Error('{made.new_word()}');"


def _word(source: str) -> str | None:
    """What the file calls to declare a test: imported under whatever name, else the runner's global word."""
    for found in IMPORT.finditer(source):
        what = found["what"] or found["whats"] or ""
        braces = BRACES.search(what)
        if braces and (named := NAMED.search(braces[1])):
            return named["other"] or named[0].split()[0]
        if (default := DEFAULT.match(what)) and found["member"] in (None, ".test", ".it"):
            return default[1]
    used = USED.findall(source)
    return used[-1] if used else None


def _tests(call: str, made: MadeUp, style: Style) -> tuple[str, tuple[str, ...]]:
    names, texts = [], []
    shapes = (
        "() => {{\n  throw new Error('{word}');\n}}",
        "async () => {{\n  await Promise.reject(new Error('{word}'));\n}}",
    )
    for shape in shapes[: 1 if style.only_one else 2]:
        names.append(made.sentence())
        texts.append(f"{call}('{names[-1]}', {shape.format(word=made.new_word())});\n")
    return "\n".join(texts), tuple(names)
