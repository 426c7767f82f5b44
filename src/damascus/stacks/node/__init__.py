"""JavaScript and TypeScript: node --test, vitest, jest, mocha."""

import json
import re
from collections.abc import Callable, Collection
from pathlib import Path

from damascus.stacks.node.habits import HABITS
from damascus.stacks.stack import (
    CheckSettings,
    Footprint,
    Later,
    Recipe,
    Reporting,
    Runner,
    Stack,
    Toolchain,
    paths,
    word,
)

HERE = Path(__file__).parent
ROOM = "damascus.stacks.node"
PLACEHOLDER = "no test specified"
"""What `npm init` writes: it fails whatever the code does."""


def command(listing: Collection[str]) -> str:
    names = {path for path in listing if "/" not in path}
    if any(name.startswith("vitest.config.") for name in names):
        return "npx vitest run"
    if any(name.startswith("jest.config.") for name in names):
        return "npx jest --ci"
    return "npm test" if "package.json" in names else "node --test"


def has_command(listing: Collection[str], read: Callable[[str], bytes | None]) -> bool:
    return command(listing) != "npm test" or _has_script(read("package.json"))


def _has_script(package: bytes | None) -> bool:
    try:
        scripts = json.loads(package or b"{}")["scripts"]
        script = str(scripts["test"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return bool(script.strip()) and PLACEHOLDER not in script


def _set_up(listing: Collection[str]) -> str:
    """`npm ci` refuses to work without a lock file."""
    locked = "package.json" not in listing or {"package-lock.json", "npm-shrinkwrap.json"} & set(listing)
    return "npm ci" if locked else "npm install"


FOOTPRINT = Footprint(
    lock_files=("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
                "package.json", ".npmrc", ".nvmrc", ".node-version"),
    packages=("node_modules",),
    package_marks=(".package-lock.json", ".modules.yaml"),
    caches=("node_modules",),
    remade=(".turbo", ".parcel-cache"),
    stale=(".tsbuildinfo",),
    heavy=(".next", ".parcel-cache"),
)  # fmt: skip

TOOLCHAIN = Toolchain(
    programs=("node", "npm"),
    below_home=(".nvm/versions", ".volta"),
    registries=("NPM_CONFIG_REGISTRY",),
    caches={"npm_config_cache": "npm", "YARN_CACHE_FOLDER": "yarn"},
    versions=(("node", "-p", "JSON.stringify(process.versions)"),),
)

TSC = Recipe(
    "tsc",
    (".ts", ".tsx", ".mts", ".cts"),
    ("tsconfig.json",),
    ("--noEmit", "--pretty", "false", "--incremental", "--tsBuildInfoFile", "{cache}/tsbuildinfo", "-p", "."),
    local="node_modules/.bin/tsc",
)

STRICTNESS = (
    "strict", "noImplicitAny", "strictNullChecks", "strictFunctionTypes", "strictBindCallApply",
    "strictPropertyInitialization", "strictBuiltinIteratorReturn", "noImplicitThis", "useUnknownInCatchVariables",
    "alwaysStrict", "noUnusedLocals", "noUnusedParameters", "exactOptionalPropertyTypes", "noImplicitReturns",
    "noFallthroughCasesInSwitch", "noUncheckedIndexedAccess", "noImplicitOverride", "noUncheckedSideEffectImports",
    "noPropertyAccessFromIndexSignature", "allowUnusedLabels", "allowUnreachableCode", "checkJs", "noEmitOnError",
    "skipLibCheck", "skipDefaultLibCheck", "noCheck",
)  # fmt: skip
"""Of tsconfig.json: its other options say what is compiled to what, and change with the code."""

CHECK_SETTINGS = CheckSettings(
    own=paths(
        r"(?:eslint|prettier|stylelint|oxlint|commitlint)\.config\.[^/]*",
        r"\.(?:eslint|prettier|stylelint|oxlint)(?:rc[^/]*|ignore)",
        r"biome\.jsonc?",
        r"tslint\.json",
        r"\.npmrc",
    ),
    parts={
        "package.json": ("scripts", "eslintConfig", "eslintIgnore", "prettier", "stylelint", "standard", "xo"),
        **dict.fromkeys(
            ("tsconfig*.json", "jsconfig.json"),
            (*(f"compilerOptions.{option}" for option in STRICTNESS), "include", "exclude", "files", "extends"),
        ),
        ".gitignore": (),  # prettier looks at nothing that it names
    },
)

RUNNERS = (
    Runner(
        "node",
        line=re.compile(r"^(?:#|ℹ) (?:tests|suites|pass|fail|cancelled|skipped|todo) \d{1,9}$", re.M),
        leaves_out=("--test-name-pattern", "--test-only", "--test-skip-pattern", "--test-shard"),
        summary=Later(f"{ROOM}.printed:node_summary"),
    ),
    Runner(
        "jest",
        line=re.compile(r"^(?:Tests|Test Suites):[ \t]{1,20}[^\s][^\n]{0,200} total$", re.M),
        leaves_out=("-t", "--testNamePattern", "-o", "--onlyChanged", "--changedSince", "--shard", "--onlyFailures"),
        summary=Later(f"{ROOM}.printed:jest_summary"),
    ),
    Runner(
        "vitest",
        line=re.compile(r"^ {0,20}(?:Tests|Test Files) {2,20}(?:[^\s][^\n]{0,200}\)|no tests)$", re.M),
        leaves_out=("-t", "--testNamePattern", "--changed", "related", "--shard"),
        summary=Later(f"{ROOM}.printed:vitest_summary"),
    ),
    Runner(
        "mocha",
        line=re.compile(r"^ {2}\d{1,9} (?:passing|failing|pending)\b[^\n]{0,200}$", re.M),
        leaves_out=("-g", "--grep", "-f", "--fgrep"),
        summary=Later(f"{ROOM}.printed:mocha_summary"),
        loose=True,
    ),
)

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
    has_command=has_command,
    file_command=Later(f"{ROOM}.file_command:file_command"),
    read=Later(f"{ROOM}.source:read_calls_of"),
    footprint=FOOTPRINT,
    toolchain=TOOLCHAIN,
    install=((r"Cannot find (module|package) |ERR_MODULE_NOT_FOUND", _set_up),),
    commands=Later(f"{ROOM}.commands:commands"),
    unfolds=Later(f"{ROOM}.commands:unfolds"),
    check_settings=CHECK_SETTINGS,
    compiler=TSC,
    runners=RUNNERS,
    named=re.compile(word(r"node(?:[ \t]+[^\s;&|]+){0,20}?[ \t]+--test") + "|" + word("(?:vitest|jest|mocha)")),
    how="start it as `node --test`, vitest, jest or mocha, without another NODE_OPTIONS",
    reporting=Reporting(files=tuple(sorted((HERE / "runner").glob("*.[cm]js"))), by_node="preload.cjs"),
    habits=HABITS,
    canaries=Later(f"{ROOM}.canaries:NODE"),
    mutants=Later(f"{ROOM}.functions:MUTANTS"),
    mutation_tool=Later(f"{ROOM}.stryker:STRYKER"),
    coverage=Later(f"{ROOM}.coverage:COVERAGE"),
    awareness=Later(f"{ROOM}.awareness:references"),
    own_code=Later(f"{ROOM}.own_code:OWN_CODE"),
)
