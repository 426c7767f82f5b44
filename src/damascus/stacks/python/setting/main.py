"""The other setting: a plain program that calls the same tests. No runner is loaded, named or set."""

import builtins
import importlib
import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_TOPS = ("pytest", "_pytest", "pluggy", "iniconfig", "exceptiongroup", "py")


def _read(name):
    with open(os.path.join(_HERE, name)) as file:
        return json.load(file)


def _hide_the_runner(found):
    """Tests may use what it offers (raises, approx, marks); what is loaded does not show it."""
    before = set(sys.modules)
    try:
        found.append(importlib.import_module("pytest"))
    except ImportError:
        return
    kept = {name: sys.modules[name] for name in set(sys.modules) - before if name.partition(".")[0] in _TOPS}
    for name in kept:
        del sys.modules[name]
    real = builtins.__import__

    def quiet(name, scope=None, local=None, fromlist=(), level=0):
        if level == 0 and name in kept:
            return kept[name] if fromlist else kept[name.partition(".")[0]]
        if level and scope and scope.get("__package__", "").partition(".")[0] in _TOPS:
            base = scope["__package__"].rsplit(".", level - 1)[0]
            if f"{base}.{name}".rstrip(".") in kept:
                return kept[f"{base}.{name}".rstrip(".")]
        return real(name, scope, local, fromlist, level)

    builtins.__import__ = quiet


def _conftests(root, tests):
    """Their top lines prepare things too; who has hooks or fixtures for every test can't be done without."""
    folders = {os.path.dirname(os.path.join(root, path)) for path, _ in tests} | {root}
    every = {os.path.join(up, "conftest.py") for folder in folders for up in _up(folder, root)}
    return sorted(path for path in every if os.path.exists(path))


def _up(folder, root):
    while len(folder) >= len(root):
        yield folder
        folder = os.path.dirname(folder)


def _run():
    asked, places = _read("asked.json"), _read("places.json")
    names = {"__name__": "calls", "__file__": os.path.join(_HERE, "calls.py")}
    with open(names["__file__"], "rb") as file:
        exec(compile(file.read(), names["__file__"], "exec", dont_inherit=True), names)
    sys.path[:] = [place for place in places if place != _HERE]
    sys.argv[:] = ["main.py"]
    told = {}
    conftests = _conftests(asked["root"], asked["tests"])
    for path in conftests:
        with open(path, "rb") as file:
            text = file.read()
        if b"def pytest_" in text or b"autouse" in text or b"pytest_plugins" in text:
            return
    _hide_the_runner(names["PYTEST"])
    for path in conftests:
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec", dont_inherit=True), {"__name__": "conftest", "__file__": path})
    for path, name in asked["tests"]:
        told[f"{path}::{name}"] = names["outcome"](asked["root"], path, name)
    names["write"](os.path.join(_HERE, "without.json"), told)


_run()
