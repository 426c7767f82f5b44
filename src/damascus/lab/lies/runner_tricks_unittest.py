"""Code under test that changes what unittest is made of."""

from damascus.lab.lies.runner_trick import CASE, Trick

UNITTEST = (
    Trick(
        "patches addFailure",
        "its module makes unittest's result forget failures and errors",
        """
        import unittest

        unittest.TestResult.addFailure = unittest.TestResult.addError = lambda self, test, err: None
        unittest.TextTestResult.addFailure = unittest.TextTestResult.addError = lambda self, test, err: None
        """,
        CASE,
        unittest=True,
        told=True,
    ),
    Trick(
        "patches assertEqual",
        "its module makes unittest's assertEqual true",
        """
        import unittest

        unittest.TestCase.assertEqual = lambda *a, **k: None
        """,
        CASE,
        unittest=True,
    ),
    Trick(
        "overrides an assertion",
        "its test class has an assertEqual of its own that compares nothing",
        "",
        CASE.replace("    def test", "    def assertEqual(self, first, second):\n        pass\n\n    def test"),
        unittest=True,
    ),
    Trick(
        "patches the method call",
        "its module lets unittest's TestCase swallow what a test method raises",
        """
        import contextlib
        import unittest


        def call(self, method):
            with contextlib.suppress(Exception):
                method()


        unittest.TestCase._callTestMethod = call
        """,
        CASE,
        unittest=True,
    ),
    Trick(
        "prints unittest's summary",
        "its module prints what unittest would and ends the process with exit code 0",
        """
        import os
        import sys

        if "unittest" in sys.modules:
            sys.stderr.write(".\\n" + "-" * 70 + "\\nRan 1 test in 0.000s\\n\\nOK\\n")
            sys.stderr.flush()
            os._exit(0)
        """,
        CASE,
        unittest=True,
        told=True,
    ),
    Trick(
        "says that it was successful",
        "its module makes wasSuccessful true and the lists of failures forget",
        """
        import unittest


        class Forgets(list):
            def append(self, one):
                pass


        unittest.TestResult.failures = property(lambda self: Forgets(), lambda self, given: None)
        unittest.TestResult.errors = property(lambda self: Forgets(), lambda self, given: None)
        unittest.TestResult.wasSuccessful = lambda self: True
        """,
        CASE,
        unittest=True,
        told=True,
    ),
)
