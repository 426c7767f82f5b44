"""What a trick on the test runner is: the files of a story whose code makes its runner say that all is well."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

WRONG = "def value():\n    return 0\n"
TEST = "from m import value\n\n\ndef test_REQ_001_value():\n    assert value() == 42\n"
CASE = """\
import unittest

from m import value


class TestValue(unittest.TestCase):
    def test_REQ_001_value(self):
        self.assertEqual(value(), 42)
"""
FORGE = """
import os, re, sys


def forge(*_):
    found = re.search(r"--junitxml=(\\\\S+)", os.environ.get("PYTEST_ADDOPTS", ""))
    if found is None:
        return
    report = os.open(found[1].strip("'"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(report, b'<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="0" tests="1">'
             b'<testcase classname="tests.test_m" name="test_REQ_001_value" file="tests/test_m.py" line="3" '
             b'time="0.001"/></testsuite></testsuites>')
    os.write(OUT, b"\\\\n1 passed in 0.01s\\\\n")
    os._exit(0)


OUT = sys.__stdout__.fileno()
""".replace("\\\\", "\\")
"""Writes the report and the summary that it wants, then ends the process."""


@dataclass(frozen=True)
class Trick:
    """`code` is m.py, behind which comes a wrong `value`; `test` the story's test file."""

    name: str
    does: str
    code: str = ""
    test: str = TEST
    unittest: bool = False
    suite: bool = False
    """Shown only in a run of the project's whole suite."""
    more: Mapping[str, str] = field(default_factory=dict)
    unreported: bool = False
    """A test of the story is not reported, which gate tests sees by itself."""
    told: bool = False
    """What unittest told us of its tests is red, whatever it prints and exits with."""

    @property
    def files(self) -> dict[str, str]:
        return {"m.py": dedent(self.code) + "\n\n" + WRONG, "tests/test_m.py": dedent(self.test), **self.more}
