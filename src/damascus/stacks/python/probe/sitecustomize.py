"""Loaded by every Python of a judged command: tells which test runs which line of the project, and what comes back.

It needs nothing but the standard library of Python 3.8 and later. It lies in a folder outside of the checkout and
reads there where that is. One file for each process, written at once: a killed child loses nothing. A test is known
by the variable that pytest sets, which children inherit; unittest's by its first argument. Code that claims to come
from a file of the project is compared with what that file compiles to; what differs is not counted.
"""

import os
import sys
import threading

_HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(_HERE, "root")) as _file:
    _ROOT = _file.read() + os.sep
_OUT = os.path.join(_HERE, "seen")
_TYPES = 400


class _Probe:
    def __init__(self):
        self.fd, self.pid, self.test = -1, 0, None
        self.real, self.codes, self.told, self.types = {}, {}, set(), set()
        self.lock = threading.Lock()

    def write(self, text):
        if self.pid != os.getpid():
            name = "%d-%s" % (os.getpid(), os.urandom(4).hex())
            self.fd = os.open(os.path.join(_OUT, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self.pid, self.test, self.told, self.types = os.getpid(), None, set(), set()
            os.write(self.fd, b"P\n")
        os.write(self.fd, text.encode("utf-8", "backslashreplace"))

    def file_of(self, code):
        """The path below the project's root of a code object that its file really holds, else None."""
        known = self.codes.get(id(code))  # not by the code: the same text in two files makes equal ones
        if known is not None:
            return known[1]
        path = os.path.normpath(os.path.join(os.getcwd(), code.co_filename)) if code.co_filename[:1] != "<" else ""
        found = None
        ours = path.startswith(_ROOT) and path.endswith(".py") and "site-packages" not in path
        if ours and (code.co_name, code.co_firstlineno, code.co_code) in self.compiled(path):
            found = path[len(_ROOT) :]
        self.codes[id(code)] = (code, found)
        return found

    def lies_elsewhere(self, name):
        """Wherever the process stands: a name that is no absolute path may mean another file later."""
        return name[:1] == "<" or (os.path.isabs(name) and not os.path.normpath(name).startswith(_ROOT))

    def compiled(self, path):
        if path not in self.real:
            self.real[path] = held = set()
            try:
                with open(path, "rb") as file:
                    stack = [compile(file.read(), path, "exec", dont_inherit=True)]
            except Exception:
                stack = []
            while stack:
                code = stack.pop()
                held.add((code.co_name, code.co_firstlineno, code.co_code))
                stack += [one for one in code.co_consts if isinstance(one, type(code))]
        return self.real[path]

    def current(self):
        said = os.environ._data.get(b"PYTEST_CURRENT_TEST", b"")
        return said.decode("utf-8", "replace").rpartition(" ")[0].replace("\n", " ") if said else ""

    def entered(self, code, frame):
        """A function of the project begins: has another test begun meanwhile?"""
        test = self.current()
        if not test and code.co_name.startswith("test"):
            owner = frame.f_locals.get("self")
            if hasattr(owner, "_testMethodName"):
                test = str(owner.id())
        elif not test:
            test = self.test or ""
        if test != self.test or self.pid != os.getpid():
            self.write("")
            self.test, self.told = test, set()
            self.write("T\t%s\n" % test)
            return True
        return False

    def call(self, path, code):
        if (path, code) not in self.told:
            self.told.add((path, code))
            self.write("C\t%s\t%d\n" % (path, code.co_firstlineno))

    def line(self, path, number):
        if (path, number) not in self.told:
            self.told.add((path, number))
            self.write("L\t%s\t%d\n" % (path, number))

    def gave(self, path, code, value):
        key = (path, code.co_firstlineno, type(value).__name__)
        if key not in self.types and len(self.types) < _TYPES:
            self.types.add(key)
            self.write("R\t%s\t%d\t%s\n" % key)


def _by_monitoring(probe):
    watch = sys.monitoring
    tool = next((number for number in (4, 3, 5) if watch.get_tool(number) is None), None)
    if tool is None:
        return
    watch.use_tool_id(tool, "coverage")
    events = watch.events
    watched = set()  # lines are asked of the project's code alone: those of all others would cost most

    def start(code, _):
        path = probe.file_of(code)
        if path is None:
            return watch.DISABLE
        if probe.entered(code, sys._getframe(1)):
            watch.restart_events()
        if id(code) not in watched:
            watched.add(id(code))
            watch.set_local_events(tool, code, events.LINE | events.PY_RETURN)
        probe.call(path, code)
        return None

    def line(code, number):
        probe.line(probe.file_of(code), number)
        return watch.DISABLE

    def gave(code, _, value):
        probe.gave(probe.file_of(code), code, value)
        return watch.DISABLE

    for event, heard in ((events.PY_START, start), (events.LINE, line), (events.PY_RETURN, gave)):
        watch.register_callback(tool, event, heard)
    watch.set_events(tool, events.PY_START)


def _by_tracing(probe):
    def inside(frame, event, value):
        path = probe.file_of(frame.f_code)
        if path is not None:
            if event == "line":
                probe.line(path, frame.f_lineno)
            elif event == "return":
                probe.gave(path, frame.f_code, value)
        return inside

    foreign = set()  # files that lie elsewhere: most calls of a process are theirs, and each comes by here

    def called(frame, event, _):
        code = frame.f_code
        if code.co_filename in foreign:
            return None
        path = probe.file_of(code)
        if path is None:
            if probe.lies_elsewhere(code.co_filename):
                foreign.add(code.co_filename)
            return None
        probe.entered(code, frame)
        probe.call(path, code)
        return inside

    threading.settrace(called)
    _at_first_code_of_ours(probe, lambda: sys.settrace(called))


def _at_first_code_of_ours(probe, begin):
    """A runner starts with some hundred thousand calls of its own, and being called for each costs as much as they do.
    Code of the project can't be called before it was executed once, by an import, as a program or by name; nor by
    another thread before there is one."""
    waiting = [begin]

    def heard(event, args):
        if not waiting:
            return
        if event in ("exec", "function.__new__"):
            name = getattr(args[0], "co_filename", "<")
        elif event == "cpython.run_file":
            name = os.path.abspath(args[0])
        else:
            return
        if not probe.lies_elsewhere(name):
            waiting.pop()()

    begin_thread = threading._start_new_thread

    def first_thread(*args, **more):
        threading._start_new_thread = begin_thread
        if waiting:
            waiting.pop()()
        return begin_thread(*args, **more)

    threading._start_new_thread = first_thread
    sys.addaudithook(heard)


def _next_in_line():
    """The sitecustomize that this one hides is run too."""
    from importlib import machinery  # every start of Python pays for what stands at the top here

    places = [os.path.abspath(place or ".") for place in sys.path]
    behind = sys.path[places.index(_HERE) + 1 :] if _HERE in places else []
    spec = machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        code = spec.loader.get_code("sitecustomize")
        if code is not None:
            exec(code, {"__name__": "sitecustomize", "__file__": spec.origin})


if os.path.isdir(_OUT):
    _probe = _Probe()
    try:
        _probe.write("")
        (_by_monitoring if hasattr(sys, "monitoring") else _by_tracing)(_probe)
    except OSError:
        pass
_next_in_line()
