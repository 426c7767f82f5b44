"""How commands of node's runners are written: what selects by name, what ends at the first failure, what runs tests."""

import re

from damascus.stacks.stack import Habits, ReadFile

BY_NAME = re.compile(r"(?<!\S)(?:-t|-g|--grep|--testNamePattern|--test-name-pattern)(?:[ =]|$)")
STOPS = re.compile(r"(?<!\S)--bail(?:=(?!0|false)\S+)?(?!\S)")
CONFIGS = ("package.json", "jest.config.js", "jest.config.ts", "jest.config.json", "vitest.config.ts",
           "vitest.config.js", "vitest.config.mts", ".mocharc.json", ".mocharc.yml")  # fmt: skip
BAIL = re.compile(r"\bbail\b[\"']?[ \t]*[:=][ \t]*(?!0|false)")
OWN_RUNNER = re.compile(rb"""['"](?:node:test|vitest|@jest/globals|mocha)['"]""")
OTHER_RUNNER = re.compile(
    rb"""(?:import\s{1,9}(?:test|it)\b|import\s{0,9}\{[^}\n]{0,200}\b(?:test|it)\b[^}\n]{0,200}\}|\b(?:test|it)\s{0,9}=\s{0,9}require\b)"""
)


def stops(command: str, read: ReadFile) -> bool:
    return STOPS.search(command) is not None or any(BAIL.search(read(name)) for name in CONFIGS)


def own_runner(source: bytes) -> bool:
    """Not where `test` comes from a package that we don't know."""
    return OWN_RUNNER.search(source) is not None or OTHER_RUNNER.search(source) is None


HABITS = Habits(by_name=lambda command: BY_NAME.search(command) is not None, stops=stops, own_runner=own_runner)
