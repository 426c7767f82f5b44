"""Calls tests by themselves: no fixtures but two, no hooks. Loaded by the stand-in, and by main.py elsewhere.

Whatever it can't call as the runner would is left out: only what passes here under the runner is compared.
"""

import importlib
import inspect
import itertools
import json
import os
import pathlib
import sys
import tempfile

HARMLESS = ("parametrize",)
GIVEN = ("tmp_path", "monkeypatch")
PYTEST = []
"""The module, once it is loaded: from then on what `pytest.fail` and its like raise is a failure, too."""


class LeftOut(Exception):
    """A test that needs more than a call."""


def with_runner(asked, told):
    """A plug-in that calls the tests itself where pytest would set up fixtures and call them."""
    pytest = sys.modules["pytest"]
    PYTEST.append(pytest)

    class Calling:
        def __init__(self):
            self.found, self.told = {}, {}

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items):
            wanted = {_where(asked, path, name): f"{path}::{name}" for path, name in asked["tests"]}
            kept = {}
            for item in items:
                at = (os.path.realpath(str(item.path)), item.nodeid.partition("::")[2].partition("[")[0])
                if at in wanted:
                    kept.setdefault(wanted[at], item)
            items[:] = kept.values()
            self.found = {item: name for name, item in kept.items()}

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(self, item):
            test = self.found.pop(item, None)
            if test is not None:
                capture = item.config.pluginmanager.getplugin("capturemanager")
                capture.resume_global_capture()
                os.environ["PYTEST_CURRENT_TEST"] = f"{item.nodeid} (call)"
                self.told[test] = outcome(asked["root"], *test.split("::", 1))
                os.environ.pop("PYTEST_CURRENT_TEST", None)
                capture.suspend_global_capture(in_=False)
            return True

        def pytest_sessionfinish(self):
            write(told, self.told)

    return Calling()


def write(path, told):
    with open(path, "w") as file:
        json.dump(told, file)


def _where(asked, path, name):
    return os.path.realpath(os.path.join(asked["root"], path)), name


def outcome(root, path, name):
    """passed, failed (an assertion did not hold), or other: then nothing can be said of it."""
    try:
        _call(_module(os.path.join(root, path)), name.split("::"))
    except AssertionError:
        return "failed"
    except LeftOut:
        return "other"
    except BaseException as err:
        return "failed" if PYTEST and isinstance(err, PYTEST[0].fail.Exception) else "other"
    return "passed"


def _module(path):
    folder, name = os.path.split(path)
    name = name[: -len(".py")]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, part = os.path.split(folder)
        name = f"{part}.{name}"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


def _call(module, names):
    if len(names) > 2:
        raise LeftOut
    kind = getattr(module, names[0]) if len(names) == 2 else None
    if kind is not None and "debug" in dir(kind) and "assertEqual" in dir(kind):
        kind(names[-1]).debug()
        return
    function = getattr(kind or module, names[-1])
    if inspect.iscoroutinefunction(function) or hasattr(function, "hypothesis"):
        raise LeftOut
    marks = [*getattr(kind, "pytestmark", ()), *getattr(module, "pytestmark", ()), *getattr(function, "pytestmark", ())]
    for values in _parameters(marks):
        _once(kind() if kind else None, function, values)


def _parameters(marks):
    if any(mark.name not in HARMLESS for mark in marks):
        raise LeftOut
    rows = [_rows(mark) for mark in marks]
    for chosen in itertools.product(*rows):
        yield {name: value for row in chosen for name, value in row.items()}


def _rows(mark):
    if set(mark.kwargs) - {"ids"} or len(mark.args) != 2:
        raise LeftOut
    names, every = mark.args
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = []
    for one in every:
        values = getattr(one, "values", None)
        if isinstance(values, tuple):
            if one.marks:
                raise LeftOut
        else:
            values = (one,) if len(names) == 1 else tuple(one)
        rows.append({name: values[at] for at, name in enumerate(names)})
    return rows


def _once(instance, function, values):
    wanted = list(inspect.signature(function).parameters)[1 if instance is not None else 0 :]
    if any(name not in values and name not in GIVEN for name in wanted):
        raise LeftOut
    undo = []
    for name in wanted:
        if name == "tmp_path":
            values[name] = pathlib.Path(tempfile.mkdtemp())
        elif name == "monkeypatch":
            values[name] = PYTEST[0].MonkeyPatch()
            undo.append(values[name].undo)
    try:
        if instance is not None and hasattr(instance, "setup_method"):
            instance.setup_method(*([function] if len(inspect.signature(instance.setup_method).parameters) else []))
        function(*([instance] if instance is not None else []), **{name: values[name] for name in wanted})
    finally:
        for each in undo:
            each()
