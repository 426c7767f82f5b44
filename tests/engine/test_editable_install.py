"""A package in a src layout, installed in place by set-up: a story is judged by its own code, and by nothing else."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.yard import CONFIG, Yard, story

PYTHON = shlex.quote(sys.executable)
SITE = f".venv/lib/python3.{sys.version_info.minor}/site-packages"
SETUP = f"{PYTHON} -m venv --without-pip .venv && echo $PWD/src > {SITE}/sizes.pth"
SUITE = ".venv/bin/python -m unittest discover -v -s tests"
SIZES = "def kilo():\n    return 1000\n\n\ndef kibi():\n    return 1024\n"
TESTS = """\
import unittest

from sizes import kibi, kilo


class Sizes(unittest.TestCase):
    def test_REQ_001_kilo(self):
        self.assertEqual(kilo(), 1000)

    def test_REQ_001_kibi(self):
        self.assertEqual(kibi(), 1024)
"""
FILES = {
    "pyproject.toml": '[project]\nname = "sizes"\n',
    "src/sizes/__init__.py": SIZES,
    "tests/test_sizes.py": TESTS,
    ".gitignore": ".venv/\n__pycache__/\n",
}
SWAPS = """
path = pathlib.Path("src/sizes/__init__.py")
path.write_text(path.read_text().replace("1000", "1_").replace("1024", "1000").replace("1_", "1024"))
"""
ADDS = """
path = pathlib.Path("src/sizes/__init__.py")
path.write_text(path.read_text() + "\\n\\ndef mega():\\n    return kilo() * kilo()\\n")
pathlib.Path("tests/test_mega.py").write_text(
    "import unittest\\n\\nfrom sizes import mega\\n\\n\\nclass Mega(unittest.TestCase):\\n"
    "    def test_REQ_001_mega(self):\\n        self.assertEqual(mega(), 1000000)\\n")
tried = subprocess.run([".venv/bin/python", "-m", "unittest", "discover", "-s", "tests"])
sys.exit(tried.returncode)
"""
"""It runs the tests itself: in its workspace, too, the package is the one that it changes."""


def project(tmp_path: Path, database_url: str) -> Yard:
    settings = f"{CONFIG}[workspace]\nsetup = '''{SETUP}'''\n"
    return Yard(tmp_path, database_url, files=FILES, config=settings)


@pytest.mark.req("D7")
def test_a_refactor_that_breaks_its_own_suite_does_not_land(tmp_path: Path, database_url: str) -> None:
    yard = project(tmp_path, database_url)
    yard.add(story("swap", kind="refactor", scope=["src/sizes/__init__.py"], command=SUITE), budget=1)
    yard.work(yard.agent(SWAPS))
    item = yard.item("swap")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "tests_failed"), yard.questions()
    assert yard.on_main("src/sizes/__init__.py") == SIZES.strip()


@pytest.mark.req("D7")
def test_a_correct_feature_lands(tmp_path: Path, database_url: str) -> None:
    yard = project(tmp_path, database_url)
    yard.add(story("mega", scope=["src/sizes/__init__.py", "tests/test_mega.py"], command=SUITE), budget=1)
    yard.work(yard.agent(ADDS))
    assert yard.item("mega")["phase"] == "done", (yard.questions(), yard.item("mega")["last_feedback"])
    assert "mega" in (yard.on_main("src/sizes/__init__.py") or "")


@pytest.mark.req("D7")
def test_a_copy_of_the_project_is_a_question_and_costs_nothing(tmp_path: Path, database_url: str) -> None:
    copies = f"{PYTHON} -m venv --without-pip .venv && cp -r src/sizes {SITE}"
    settings = f"{CONFIG}[workspace]\nsetup = '''{copies}'''\n"
    yard = Yard(
        tmp_path,
        database_url,
        files={**FILES, "src/sizes/__init__.py": f"{SIZES}\n\nNAMES = 'kKmM'\n"},
        config=settings,
    )
    yard.add(story("mega", scope=["src/sizes/__init__.py", "tests/test_mega.py"], command=SUITE))
    yard.work(yard.agent(ADDS))
    item = yard.item("mega")
    assert (item["phase"], item["attempts"]) == ("blocked", 0)
    asked = yard.questions()
    assert len(asked) == 1 and f"a copy of src/sizes/__init__.py at {SITE}/sizes/__init__.py" in asked[0]
    assert "pip install -e ." in asked[0]
