"""The probe of Python sees the project's code however it is started, though it looks away until that begins."""

import subprocess
import sys
from pathlib import Path

import pytest

from damascus.stacks.python.probe.reading import PythonProbe

PROGRAM = """\
def doubled(n):
    return n * 2


if __name__ == "__main__":
    doubled(2)
"""
THREAD = "import threading, sys, prog; one = threading.Thread(target=prog.doubled, args=(1,)); one.start(); one.join()"
IMPORTED_BY_A_THREAD = """\
import importlib, threading
one = threading.Thread(target=lambda: importlib.import_module("prog"))
one.start()
one.join()
import sys
sys.modules["prog"].doubled(2)
"""
MADE = """\
import types
code = compile(open("prog.py").read(), "prog.py", "exec")
inner = next(one for one in code.co_consts if isinstance(one, types.CodeType))
types.FunctionType(inner, {})(2)
"""
WAYS = {
    "a program": ["prog.py"],
    "a module": ["-m", "prog"],
    "imported": ["-c", "import prog; prog.doubled(3)"],
    "in a thread": ["-c", THREAD],
    "imported by a thread": ["-c", IMPORTED_BY_A_THREAD],
    "executed by name": ["-c", "import runpy; runpy.run_path('prog.py', run_name='__main__')"],
    "a function made of its code": ["-c", MADE],
}


@pytest.mark.req("A16")
@pytest.mark.parametrize("words", WAYS.values(), ids=WAYS.keys())
def test_the_probe_sees_the_code_of_the_project(words: list[str], tmp_path: Path) -> None:
    project, folder, probe = tmp_path / "project", tmp_path / "probe", PythonProbe()
    project.mkdir()
    (project / "prog.py").write_text(PROGRAM)
    env = probe.begin(folder, str(project), {})
    subprocess.run([sys.executable, *words], cwd=project, env=dict(env), check=True)
    probe.end(folder)
    assert 1 in probe.seen.calls["prog.py"]
    assert 2 in probe.seen.lines["prog.py"]


@pytest.mark.req("A16")
def test_the_probe_sees_nothing_of_code_that_lies_elsewhere(tmp_path: Path) -> None:
    project, folder, probe = tmp_path / "project", tmp_path / "probe", PythonProbe()
    project.mkdir()
    (tmp_path / "prog.py").write_text(PROGRAM)
    env = probe.begin(folder, str(project), {})
    subprocess.run([sys.executable, tmp_path / "prog.py"], cwd=project, env=dict(env), check=True)
    probe.end(folder)
    assert probe.seen.processes == 1
    assert not probe.seen.lines
