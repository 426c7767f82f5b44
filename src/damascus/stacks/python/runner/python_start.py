"""Loaded by every Python of a Test Command as `sitecustomize`: where unittest is imported, its results come to us, and
where pytest writes its report, an unexpected pass is told in it.

It runs under any Python, the oldest too, and costs almost nothing: what reports is loaded by the import of unittest.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_REPORTER = os.path.join(_HERE, os.pardir, "lib", "damascus", "stacks", "runners")
_LAST = "unittest.main"
"""unittest imports it after all that its results go through."""
_PYTEST_REPORT = "_pytest.junitxml"


class _Watch:
    """First among the finders until unittest's last module is asked for, and pytest's report where pytest runs; then
    gone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        then = {_LAST: _listen, _PYTEST_REPORT: _tell_xpass}.get(name)
        if then is None:
            return None
        if name == _PYTEST_REPORT or "_pytest" not in sys.modules:
            sys.meta_path.remove(_Watch)
        others = [finder for finder in sys.meta_path if finder is not _Watch and hasattr(finder, "find_spec")]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((one for one in found if one is not None), None)
        loader = getattr(spec, "loader", None)
        if loader is not None and not isinstance(loader, type):
            run = loader.exec_module

            def exec_module(module):
                run(module)
                then(module)

            loader.exec_module = exec_module
        return spec


def _tell_xpass(module):
    """pytest's report calls an unexpected pass a pass; a property says what it is. Where that fails, pytest's own last
    line still has the number."""
    try:
        passed = module._NodeReporter.append_pass

        def append_pass(self, report):
            if hasattr(report, "wasxfail"):
                self.add_property("damascus", "xpassed")
            return passed(self, report)

        module._NodeReporter.append_pass = append_pass
    except Exception:
        pass


def _listen(module=None):
    """Whatever goes wrong here: unittest works as ever, and is read by what it prints."""
    try:
        # Not there in Python 2, which may start this file too.
        loader = __import__("_frozen_importlib_external").SourceFileLoader
        names = {"__name__": "unittest_report"}
        for part in ("unittest_places", "unittest_report"):
            names["__file__"] = path = os.path.join(_REPORTER, part + ".py")
            exec(loader(part, path).get_code(part), names)  # compiled already, for a Python like the kit's
    except Exception:
        pass


def _next_in_line():
    """The sitecustomize that this one hides is run as if it were the only one."""
    places = [os.path.abspath(place or ".") for place in sys.path]
    behind = sys.path[places.index(_HERE) + 1 :] if _HERE in places else []
    if sys.version_info < (3, 5):
        import imp  # gone since Python 3.12

        try:
            file, path, how = imp.find_module("sitecustomize", behind)
        except ImportError:
            return
        imp.load_module("sitecustomize", file, path, how)
        return
    # Not there in Python 2, which may start this file too.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder  # as above

    spec = PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


if "RUNNER_REPORTS" in os.environ and sys.version_info >= (3, 8):
    if _LAST in sys.modules:
        _listen()
    else:
        sys.meta_path.insert(0, _Watch)
_next_in_line()
