"""unittest's results as our lines, told by the process that runs the tests: python_start loads this into it.

It hears what a result object is told, whatever its class, and needs nothing but the standard library of Python 3.8 and
later. What it uses is bound beforehand: tests put other things in the place of `os.write`. Only the process that began
a run tells of it, only the outermost run is told, and nothing is told inside of pytest.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from _thread import _local, get_ident
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # python_start runs both files in one namespace
    from collections.abc import Callable

    from damascus.stacks.python.runner.unittest_places import CWD, TestPlace, file_of, place_of, places_of

__unittest = True
FOLDER, ROOT = "RUNNER_REPORTS", "RUNNER_ROOT"
PYTEST = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION")
LIMIT = 300
TESTS_LIMIT = 100_000
RANK = ("error", "failed", "xfailed", "skipped", "passed")
"""Of several things that are told of one test the first of these counts."""
open_file, write, close, getpid, urandom = os.open, os.write, os.close, os.getpid, os.urandom
encode = json.JSONEncoder().encode
MODE = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
PID = getpid()


class Open:
    """A test that has begun. It is held, for it is known by its address."""

    def __init__(self, owner: object, test: object, place: TestPlace) -> None:
        self.owner, self.test, self.place, self.thread = owner, test, place, get_ident()
        self.status, self.message = "", ""

    def note(self, status: str, message: str) -> None:
        if not self.status or RANK.index(status) < RANK.index(self.status):
            self.status, self.message = status, message


class Reporter:
    """One file for each run. `owner` is who ends it: a program, a runner, or the process where there is none."""

    def __init__(self) -> None:
        self.folder, self.root = "", "/"
        self.path, self.owner, self.told = "", None, 0  # type: str, Any, int
        self.open: dict[int, Open] = {}
        self.inside = _local()

    @property
    def silent(self) -> bool:
        if self.path or getpid() != PID:
            return getpid() != PID
        return any(name in os.environ for name in PYTEST) or not (self.folder or FOLDER in os.environ)

    def begin(self, owner: object, words: list[str]) -> bool:
        """True if it is this one that has begun."""
        if self.path or self.silent:
            return False
        if not self.folder:
            self.folder, self.root = os.environ[FOLDER], os.environ.get(ROOT, "/")
            forget_variables(self.folder)
        self.path, self.owner, self.told = os.path.join(self.folder, f"unittest-{urandom(16).hex()}.jsonl"), owner, 0
        words = [plain(word) for word in words[:1000]]
        self.write({"runner": "unittest", "words": words, "folder": os.path.relpath(CWD, self.root), "root": self.root})
        return True

    def end(self, owner: object) -> None:
        if self.path and self.owner is owner and getpid() == PID:
            self.write({"end": 0})
            self.path, self.owner = "", None
            self.open.clear()

    def write(self, line: dict[str, object]) -> None:
        """Opened each time: tests may close what they did not open."""
        try:
            file = open_file(self.path, MODE, 0o600)
        except OSError:
            return
        try:
            write(file, encode(line).encode() + b"\n")
        finally:
            close(file)

    def tell(self, place: TestPlace, status: str, message: str = "") -> None:
        self.told += 1
        if self.told <= TESTS_LIMIT * 2:
            line: dict[str, object] = {"test": plain(place.name), "file": place.file, "status": status}
            more = {"in": place.written, "message": plain(message)[:LIMIT]} if status != "started" else {}
            self.write({**line, **{name: value for name, value in more.items() if value}})

    # ── what a result is told ─────────────────────────────────────────────────────────────────────────

    def nested(self, result: object) -> bool:
        """A run inside of a test of another one."""
        ident = get_ident()
        return any(one.thread == ident and one.owner is not result for one in list(self.open.values()))

    def start(self, result: object, test: Any) -> None:
        if id(test) not in self.open and not self.nested(result) and self.listens():
            self.open[id(test)] = one = Open(result, test, place_of(test))
            self.tell(one.place, "started")

    def stop(self, result: object, test: Any) -> None:
        one = self.open.get(id(test))
        if one is not None and one.owner is result:
            del self.open[id(test)]
            self.tell(one.place, one.status or "error", one.message if one.status else "it ended without a result")

    def note(self, result: object, test: Any, status: str, message: str = "") -> None:
        test = vars(test).get("test_case", test) if type(test).__name__ == "_SubTest" else test
        one = self.open.get(id(test))
        if one is not None and one.owner is result:
            one.note(status, message)
        elif one is None and not self.nested(result) and self.listens():
            for place in places_of(test):
                self.tell(place, status, message)

    def listens(self) -> bool:
        """A run without program and runner begins with its first test and ends with the process."""
        if not self.path and "__mp_main__" not in sys.modules and self.begin(self, program(sys.argv)):
            atexit.register(self.end, self)
        return bool(self.path)


def forget_variables(folder: str) -> None:
    """What the tests start reports to nobody, neither does a pytest among it."""
    for name in (FOLDER, ROOT):
        os.environ.pop(name, None)
    options = os.environ.get("PYTEST_ADDOPTS", "").replace("-o junit_family=xunit1", "").split(" ")
    kept = " ".join(word for word in options if folder not in word).strip()
    if kept:
        os.environ["PYTEST_ADDOPTS"] = kept
    else:
        os.environ.pop("PYTEST_ADDOPTS", None)


def program(argv: list[str]) -> list[str]:
    return [os.path.join(CWD, argv[0]) if argv else "", *argv[1:]]


def plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def why(err: Any) -> str:
    try:
        lines = str(err[1]).strip().splitlines() or [""]
        return f"{err[0].__name__}: {lines[-1] if 'Traceback (most' in str(err[1]) else ' '.join(lines)}"
    except Exception:
        return "it could not be told why"


# ── how it is heard ───────────────────────────────────────────────────────────────────────────────────

REPORTER = Reporter()
KNOWN: set[type] = set()


def start_test(result: object, test: Any, *rest: Any) -> None:
    REPORTER.start(result, test)


def stop_test(result: object, test: Any, *rest: Any) -> None:
    REPORTER.stop(result, test)


def success(result: object, test: Any, *rest: Any) -> None:
    REPORTER.note(result, test, "passed")


def failure(result: object, test: Any, err: Any = None, *rest: Any) -> None:
    REPORTER.note(result, test, "failed", why(err))


def error(result: object, test: Any, err: Any = None, *rest: Any) -> None:
    REPORTER.note(result, test, "error", why(err))


def skip(result: object, test: Any, reason: Any = "", *rest: Any) -> None:
    REPORTER.note(result, test, "skipped", str(reason))


def expected_failure(result: object, test: Any, err: Any = None, *rest: Any) -> None:
    REPORTER.note(result, test, "xfailed", why(err))


def unexpected_success(result: object, test: Any, *rest: Any) -> None:
    """unittest fails for it, so it is no pass."""
    REPORTER.note(result, test, "failed", "unexpected success")


def sub_test(result: object, test: Any, _: Any = None, err: Any = None, *rest: Any) -> None:
    """Folded into its test, which has failed if one of them did."""
    if err is not None:
        failed = issubclass(err[0], getattr(test, "failureException", AssertionError))
        REPORTER.note(result, test, "failed" if failed else "error", why(err))


HEARD: dict[str, Callable[..., None]] = {
    "startTest": start_test,
    "stopTest": stop_test,
    "addSuccess": success,
    "addFailure": failure,
    "addError": error,
    "addSkip": skip,
    "addExpectedFailure": expected_failure,
    "addUnexpectedSuccess": unexpected_success,
    "addSubTest": sub_test,
}


def listen_to(kind: type) -> None:
    """Each class of its ancestry: some results don't call the method that they override."""
    if kind in KNOWN:
        return
    KNOWN.add(kind)
    for part in kind.__mro__:
        for name, hear in HEARD.items():
            method = vars(part).get(name)
            if isinstance(method, FunctionType) and not hasattr(method, "__heard__"):
                setattr(part, name, heard(method, hear))


def heard(method: Any, hear: Callable[..., None]) -> Any:
    """The outermost call counts; what it calls in turn tells the same again."""

    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        inside = REPORTER.inside
        if getattr(inside, "busy", False) or REPORTER.silent:
            return method(self, *args, **kwargs)
        inside.busy = True
        try:
            tell(hear, self, *args, *kwargs.values())
            return method(self, *args, **kwargs)
        finally:
            inside.busy = False

    return like(told, method)


def tell(hear: Callable[..., None], *args: Any) -> None:
    """What can't be told is a test without a result: nobody else is hindered."""
    try:
        hear(*args)
    except Exception:
        return


def like(ours: Any, method: Any) -> Any:
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(ours, name, getattr(method, name, None))
    ours.__wrapped__, ours.__heard__ = method, True
    return ours


def install() -> None:
    case, main, runner = (sys.modules[f"unittest.{name}"] for name in ("case", "main", "runner"))
    run_case, init, run = case.TestCase.run, main.TestProgram.__init__, runner.TextTestRunner.run

    def run_heard(self: Any, result: Any = None) -> Any:
        if result is not None and not REPORTER.silent and not REPORTER.nested(result):
            listen_to(type(result))
        return run_case(self, result)

    def init_heard(self: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(("module", "defaultTest", "argv"), args), **kwargs)
        argv, module = given.get("argv") or sys.argv, given.get("module", "__main__")
        mine = REPORTER.begin(self, ["unittest", *argv[1:]] if module is None else program([script(module), *argv[1:]]))
        try:
            init(self, *args, **kwargs)
        finally:
            if mine and "result" in vars(self):
                REPORTER.end(self)

    def run_told(self: Any, *args: Any, **kwargs: Any) -> Any:
        mine = REPORTER.begin(self, program(sys.argv))
        result = run(self, *args, **kwargs)
        if mine:
            REPORTER.end(self)
        return result

    listen_to(sys.modules["unittest.result"].TestResult)
    listen_to(runner.TextTestResult)
    case.TestCase.run = like(run_heard, run_case)
    main.TestProgram.__init__ = like(init_heard, init)
    runner.TextTestRunner.run = like(run_told, run)


def script(module: Any) -> str:
    return file_of(module if isinstance(module, str) else getattr(module, "__name__", ""))


install()
