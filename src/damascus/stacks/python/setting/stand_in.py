"""Found as `pytest` by a Test Command: the tests that were asked for are called with the real one, then without it."""

import importlib
import json
import os
import subprocess
import sys

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_RUNNERS = ("PYTEST_", "RUNNER_", "DAMASCUS_", "NODE_OPTIONS")
_SHELL = {"USER": "user", "LOGNAME": "user", "SHELL": "/bin/sh", "EDITOR": "vi"}
"""What every person's shell has set."""


def console_main():
    with open(os.path.join(_HERE, "asked.json")) as file:
        asked = json.load(file)
    calls = _calls()
    _step_aside()
    _with_runner(calls, asked)
    _without(asked)
    return 0


main = console_main


def _calls():
    names = {"__name__": "calls", "__file__": os.path.join(_HERE, "calls.py")}
    with open(names["__file__"], "rb") as file:
        exec(compile(file.read(), names["__file__"], "exec", dont_inherit=True), names)
    return names


def _step_aside():
    """From here on `pytest` is the real one."""
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _HERE]
    for name in [name for name in sys.modules if name.partition(".")[0] == "pytest"]:
        del sys.modules[name]
    rest = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place and place != _HERE]
    os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    # What a plug-in prepares for the tests would be missing in the other setting.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def _with_runner(calls, asked):
    pytest = importlib.import_module("pytest")
    sys.argv[0] = sys.modules["__main__"].__file__ = os.path.join(os.path.dirname(pytest.__file__), "__main__.py")
    pytest.main(sys.argv[1:], plugins=[calls["with_runner"](asked, os.path.join(_HERE, "with.json"))])
    with open(os.path.join(_HERE, "places.json"), "w") as file:
        json.dump([os.path.abspath(place or ".") for place in sys.path], file)


def _without(asked):
    env = {**_SHELL, **{name: value for name, value in os.environ.items() if not name.startswith(_RUNNERS)}}
    env["PYTHONPATH"] = asked["pythonpath"]
    program = [sys.executable, os.path.join(_HERE, "main.py")]
    subprocess.run(program, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
