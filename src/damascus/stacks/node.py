"""JavaScript and TypeScript: node --test, vitest, jest, mocha."""

from collections.abc import Collection

from damascus.stacks.node_source import read_calls_of
from damascus.stacks.stack import Stack, WrittenFile, paths


def command(listing: Collection[str]) -> str:
    names = {path for path in listing if "/" not in path}
    if any(name.startswith("vitest.config.") for name in names):
        return "npx vitest run"
    if any(name.startswith("jest.config.") for name in names):
        return "npx jest --ci"
    return "npm test" if "package.json" in names else "node --test"


def read(source: str) -> WrittenFile:
    return read_calls_of(source)


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
