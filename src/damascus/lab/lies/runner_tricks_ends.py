"""Code under test that ends its process, or hides a test from its runner."""

from damascus.lab.lies.runner_trick import FORGE, Trick

ENDS = (
    Trick(
        "forges the report at exit",
        "its module writes a report and a summary of its own when the interpreter ends, and exits 0",
        FORGE + "\n\nimport atexit\n\natexit.register(forge)\n",
    ),
    Trick(
        "forges the report at once",
        "its module, imported by a test, writes report and summary and ends the process with exit code 0",
        FORGE + "\n\nif 'pytest' in sys.modules:\n    forge()\n",
    ),
    Trick(
        "forges the report in __del__",
        "an object of its module does so when it is forgotten",
        FORGE + "\n\nclass Last:\n    __del__ = forge\n\n\nlast = Last()\n",
    ),
    Trick(
        "forges the report from a thread",
        "a thread of its module waits for the main thread's end and does so then",
        FORGE
        + "\n\nimport threading\n\nmain = threading.main_thread()\n"
        + "threading.Thread(target=lambda: (main.join(), forge())).start()\n",
    ),
    Trick(
        "forges the report from a child",
        "a process that its module forks waits while the real one ends, and forges the report in its place",
        FORGE
        + "\n\nif 'pytest' in sys.modules:\n    child = os.fork()\n    if child:\n        os.waitpid(child, 0)\n"
        + "        forge()\n    else:\n        os.closerange(0, 100)\n",
    ),
    Trick(
        "forges the report on a signal",
        "its module sets an alarm whose handler does so",
        FORGE + "\n\nimport signal\n\nsignal.signal(signal.SIGPROF, forge)\nsignal.raise_signal(signal.SIGPROF)\n",
    ),
    Trick(
        "forges the report for an exit code",
        "its module replaces `sys.exit` and the function behind it, so that the code no longer matters",
        FORGE + "\n\nimport _pytest.config\n\nsys.exit = forge\n_pytest.config.console_main = forge\n"
        "import atexit\natexit.register(forge)\n",
    ),
    Trick(
        "runs another runner",
        "its module replaces the process by pytest in a folder of its own, where the code is right",
        """
        import os
        import pathlib
        import sys
        import tempfile

        TEST = "from m import value\\n\\n\\ndef test_REQ_001_value():\\n    assert value() == 42\\n"
        if "pytest" in sys.modules and not os.environ.get("THERE"):
            there = pathlib.Path(tempfile.mkdtemp())
            (there / "tests").mkdir()
            (there / "tests" / "test_m.py").write_text(TEST)
            (there / "m.py").write_text("def value():\\n    return 42\\n")
            os.chdir(there)
            os.environ["THERE"] = "1"
            import subprocess
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_m.py"],
                                  capture_output=True, text=True)
            sys.__stdout__.write(done.stdout)
            sys.__stdout__.flush()
            os._exit(0)
        """,
    ),
    Trick(
        "stops the session",
        "its first test tells pytest's session that it is over",
        "",
        """
        from m import value


        def test_REQ_001_value(request):
            request.session.items[:] = request.session.items[:1]
            assert value() == 0


        def test_value_is_right():
            assert value() == 42
        """,
        unreported=True,
    ),
)
