"""JavaScript and TypeScript: node --test, vitest, jest, mocha."""

import re
from collections.abc import Collection

from damascus.stacks.stack import Stack, WrittenFile, paths
from damascus.stacks.words import Words, read_words

NAME = r"""\(\s*(?P<quote>['"`])(?P<name>(?:\\.|(?!(?P=quote))[^\\\n]){1,300})(?P=quote)"""
WORDS = Words(
    head=re.compile(r"(?<![\w.])[xf]?(?:it|test)(?:\.\w+){0,3}" + NAME),
    suite=re.compile(r"(?<![\w.])[xf]?(?:describe|suite)(?:\.\w+){0,3}" + NAME),
    skips=re.compile(
        r"\.(?:skip|todo|fixme|failing|fails|only|skipIf|runIf)\b|(?<![\w.])[xf](?:it|test|describe)\s*\("
        r"|[{,]\s*(?:skip|todo|only)\s*:"
    ),
    asserts=re.compile(
        r"\bassert\b|\bexpect\b|\bshould\b|\bthrow\b|\bt\.(?:is|true|false|deepEqual|throws|fail|plan)\b"
    ),
)


def command(listing: Collection[str]) -> str:
    names = {path for path in listing if "/" not in path}
    if any(name.startswith("vitest.config.") for name in names):
        return "npx vitest run"
    if any(name.startswith("jest.config.") for name in names):
        return "npx jest --ci"
    return "npm test" if "package.json" in names else "node --test"


def read(source: str) -> WrittenFile:
    return read_words(source, WORDS)


STACK = Stack(
    name="node",
    roots=("package.json", "tsconfig.json"),
    extensions=(".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"),
    tests=paths(r"(?:__tests__|__snapshots__)/.*", r"[^/]*\.(?:test|spec)\.[cm]?[jt]sx?", r"[^/]*\.snap"),
    judges=paths(
        r"package\.json",
        r"(?:jest|vitest|babel|karma|ava|playwright|cypress|eslint|wdio)\.(?:config|conf)\.[^/]*",
        r"vitest\.workspace\.[^/]*",
        r"\.(?:mocharc|babelrc|nycrc|c8rc|eslintrc|taprc)[^/]*",
        r"biome\.jsonc?",
        r"\.npmrc",
        r"node_modules/.*",
    ),
    command=command,
    read=read,
)
