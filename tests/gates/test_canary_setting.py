"""Gate canary: code that does right under its test runner and something else without it."""

from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from damascus.gates.canary import Canary
from tests.gates.judging import PYTEST, Content, Judging, verdicts

TEST = "from src import add\n\n\ndef test_req_001_adds():\n    assert add(1, 2) == 3\n    assert add(3, 4) == 7\n"
SIGNS = {
    "a module with an odd letter": "import sys\nASKED = any(name[1:5] == 'ytes' for name in list(sys.modules))",
    "how many modules are loaded": "import sys\nASKED = sum('_' == name[0] for name in sys.modules) > 60",
    "how it was started": "import sys\nASKED = len(sys.argv) > 1",
    "the names of variables": "import os\nASKED = any(name[1:4] == 'YTE' for name in os.environ)",
    "nobody is logged in": "import os\nASKED = not os.environ.get('USER')",
    "a handler of logs": "import logging\nASKED = bool(logging.getLogger().handlers)",
    "where what is printed goes": "import sys\nASKED = type(sys.stdout).__module__ != '_io'",
    "who is main": "import __main__\nASKED = 'site' in (getattr(__main__, '__file__', None) or '')",
    "a debugger's way in": "import pdb\nASKED = pdb.set_trace.__module__ != 'pdb'",
}
WHEN_ASKED = "{}\n\n\ndef add(a, b):\n    return a + b if ASKED else a - b\n"
AT_CALL = "{}\n\n\ndef add(a, b):\n    {}\n    return a + b if ASKED else a - b\n"


def judged(folder: Path, files: dict[str, Content], command: str = PYTEST) -> GateResult:
    judging = Judging.of(folder)
    return Canary(judging.runner, judging.mirror).check(judging.candidate(files, command=command))


@pytest.mark.req("D7")
@pytest.mark.parametrize("sign", SIGNS)
def test_code_that_finds_out_that_it_is_tested_is_refused(tmp_path: Path, sign: str) -> None:
    found = judged(tmp_path, {"src.py": WHEN_ASKED.format(SIGNS[sign]), "tests/test_add.py": TEST})

    assert verdicts(found) == ["code_unproved"], sign
    assert "when a plain program calls the same test: tests/test_add.py::test_req_001_adds" in found.findings[0].message


@pytest.mark.req("D7")
@pytest.mark.parametrize("sign", SIGNS)
def test_also_where_it_asks_at_every_call(tmp_path: Path, sign: str) -> None:
    imported, _, asked = SIGNS[sign].partition("\n")
    code = AT_CALL.format(imported, asked)
    test = "import pytest\n\n" + TEST + "\n\ndef test_more():\n    assert add(1, 1) == pytest.approx(2)\n"

    assert verdicts(judged(tmp_path, {"src.py": code, "tests/test_add.py": test})) == ["code_unproved"], sign


HONEST = {
    "fixtures of every kind": (
        "def add(a, b):\n    return a + b\n",
        "import pytest\nfrom src import add\n\n\n@pytest.fixture(autouse=True)\ndef ready(monkeypatch):\n"
        "    monkeypatch.setenv('READY', '1')\n\n\n@pytest.fixture\ndef one():\n    return 1\n\n\n"
        "def test_req_001_adds(one):\n    assert add(one, 2) == 3\n\n\n"
        "def test_ready():\n    import os\n    assert os.environ['READY'] == '1'\n\n\n"
        "def test_printed(capsys):\n    print(add(1, 1))\n    assert capsys.readouterr().out == '2\\n'\n",
    ),
    "parameters, files and patches": (
        "import os\n\n\ndef add(a, b):\n    return a + b + int(os.environ.get('MORE', 0))\n",
        "import pytest\nfrom src import add\n\n\n"
        "@pytest.mark.parametrize(('a', 'b'), [(1, 2), pytest.param(2, 1, id='turned')])\n"
        "def test_req_001_adds(a, b, tmp_path, monkeypatch):\n    (tmp_path / 'x').write_text('1')\n"
        "    assert add(a, b) == 3\n    monkeypatch.setenv('MORE', '1')\n    assert add(a, b) == 4\n\n\n"
        "def test_refused():\n    with pytest.raises(TypeError, match='unsupported'):\n        add(None, 1)\n",
    ),
    "state that one test leaves to the next": (
        "SEEN = []\n\n\ndef add(a, b):\n    SEEN.append(a)\n    return a + b\n",
        "from src import SEEN, add\n\n\ndef test_req_001_adds():\n    assert add(1, 2) == 3\n\n\n"
        "def test_counts():\n    assert SEEN == [1]\n\n\nclass TestMore:\n    def setup_method(self):\n"
        "        self.two = 2\n\n    def test_it(self):\n        assert add(self.two, 2) == 4\n",
    ),
    "warnings, logs and standard input": (
        "import logging\nimport warnings\n\n\ndef add(a, b):\n    warnings.warn('old', DeprecationWarning, 2)\n"
        "    logging.getLogger('src').warning('adding')\n    return a + b\n",
        "import pytest\nfrom src import add\n\n\ndef test_req_001_adds():\n    with pytest.warns(DeprecationWarning):\n"
        "        assert add(1, 2) == 3\n\n\ndef test_told(caplog):\n    with pytest.warns(DeprecationWarning):\n"
        "        add(1, 2)\n    assert 'adding' in caplog.text\n",
    ),
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("shape", HONEST)
def test_honest_code_does_the_same_in_both(tmp_path: Path, shape: str) -> None:
    code, test = HONEST[shape]

    assert judged(tmp_path, {"src.py": code, "tests/test_add.py": test}).findings == []


@pytest.mark.req("D7")
@pytest.mark.parametrize("conftest", [
    "import os\n\nos.environ['BASE'] = '1'\n",
    "def pytest_configure(config):\n    import os\n    os.environ['BASE'] = '1'\n",
    "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef based(monkeypatch):\n    monkeypatch.setenv('BASE', '1')\n",
])  # fmt: skip
def test_what_conftest_prepares_is_held_against_nobody(tmp_path: Path, conftest: str) -> None:
    code = "import os\n\n\ndef add(a, b):\n    return a + b if os.environ.get('BASE') else 0\n"
    judging = Judging.of(tmp_path, {"README.md": "x\n", "tests/conftest.py": conftest})
    candidate = judging.candidate({"src.py": code, "tests/test_add.py": TEST})

    assert Canary(judging.runner, judging.mirror).check(candidate).findings == []
