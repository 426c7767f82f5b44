"""What set-up recorded means the candidate: its own code is judged, never the template's (Python)."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from damascus.system.sandbox import Level
from tests.gates.set_up_projects import SetUpProject
from tests.levels import need

PYTHON = shlex.quote(sys.executable)
BACKEND = '''\
"""The smallest build back end: nothing needs to be fetched."""
import os, zipfile

NAME, INFO = "sizes-1.0-py3-none-any.whl", "sizes-1.0.dist-info"


def _wheel(folder, files):
    files |= {
        f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: sizes\\nVersion: 1.0\\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{INFO}/entry_points.txt": "[console_scripts]\\nsizes = sizes:main\\n",
    }
    files[f"{INFO}/RECORD"] = "".join(f"{name},,\\n" for name in [*files, f"{INFO}/RECORD"])
    with zipfile.ZipFile(os.path.join(folder, NAME), "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return NAME


def _top():
    return "src" if os.path.isdir("src") else "."


def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"__editable__.sizes.pth": os.path.abspath(_top()) + "\\n"})


def build_wheel(folder, config_settings=None, metadata_directory=None):
    with open(os.path.join(_top(), "sizes/__init__.py")) as file:
        return _wheel(folder, {"sizes/__init__.py": file.read()})
'''
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "sizes"
version = "1.0"
"""
KILO = "def kilo():\n    return 1000\n\n\ndef main():\n    print(kilo())\n"
KIBI = KILO.replace("1000", "1024")
PIP = f"{PYTHON} -m venv --without-pip .venv && {PYTHON} -m pip --python .venv/bin/python install -q --no-index"
RECORDED = f"{PYTHON} -m venv --without-pip .venv && echo $PWD/src > .venv/lib/python3.%d/site-packages/here.pth" % (
    sys.version_info.minor
)
"""What an editable install comes to, in a tenth of the time."""
ASK = ".venv/bin/python -c 'import sizes; sizes.main()'"

LEVELS = pytest.mark.parametrize("level", list(Level))


def project(folder: Path, level: Level, setup: str, top: str = "src/") -> SetUpProject:
    files = {
        "pyproject.toml": PYPROJECT, "backend.py": BACKEND, f"{top}sizes/__init__.py": KILO, ".gitignore": ".venv/\n"
    }  # fmt: skip
    return SetUpProject(folder, files, setup, need(level))


@pytest.mark.req("D7")
@LEVELS
def test_an_editable_install_means_the_candidate(tmp_path: Path, level: Level) -> None:
    tried = project(tmp_path, level, RECORDED)
    assert tried.told(ASK) == "1000"
    assert tried.told(ASK, {"src/sizes/__init__.py": KIBI}) == "1024"


@pytest.mark.req("D7")
@pytest.mark.parametrize("top", ["src/", ""])
def test_so_does_a_real_one_with_its_scripts(tmp_path: Path, top: str) -> None:
    tried = project(tmp_path, Level.BUBBLEWRAP, f"{PIP} -e .", top)
    ask = f"{ASK}; (cd / && $OLDPWD/.venv/bin/sizes); . .venv/bin/activate && cd .venv && sizes"
    assert tried.told(ask, {f"{top}sizes/__init__.py": KIBI}).split() == ["1024"] * 3


@pytest.mark.req("D7")
@LEVELS
def test_a_link_to_an_absolute_path_means_the_candidate(tmp_path: Path, level: Level) -> None:
    tried = project(tmp_path, level, "mkdir lib && ln -s $PWD/src/sizes lib/sizes && ln -s $PWD lib/top")
    assert "1024" in tried.told("cat lib/sizes/__init__.py", {"src/sizes/__init__.py": KIBI})
    assert "1024" in tried.told("cat lib/top/src/sizes/__init__.py", {"src/sizes/__init__.py": KIBI})


@pytest.mark.req("D7")
def test_no_source_of_the_template_is_there(tmp_path: Path) -> None:
    """Neither for a command nor on the disk: a path that leads there leads nowhere."""
    tried = project(tmp_path, Level.BUBBLEWRAP, f"{RECORDED} && echo fetched > $HOME/package")
    search = "find / -name __init__.py -path '*/sizes/*' -not -path '/proc/*' 2>/dev/null || true"
    found = tried.told(f"cat /mnt/home/package; pwd; {search}")
    assert found.splitlines() == ["fetched", "/mnt/checkout", "/mnt/checkout/src/sizes/__init__.py"]
    assert not list((tmp_path / "setup").rglob("sizes"))


@pytest.mark.req("D7")
def test_the_control_shows_the_lie(tmp_path: Path) -> None:
    """A copy of what was made elsewhere, without one path for all: the template's code answers."""
    template, copy = tmp_path / "template", tmp_path / "copy"
    for folder, text in ((template, KILO), (copy, KIBI)):
        (folder / "src/sizes").mkdir(parents=True)
        (folder / "src/sizes/__init__.py").write_text(text)
    subprocess.run(["sh", "-c", RECORDED], cwd=template, check=True)
    subprocess.run(["cp", "-a", template / ".venv", copy], check=True)
    done = subprocess.run(["sh", "-c", ASK], cwd=copy, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1000"
