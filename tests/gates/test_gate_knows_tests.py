"""Gate knows_tests: code that is no test and asks whether it is tested is refused; honest code that is near is not."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.gates.knows_tests import KnowsTests
from tests.gates.judging import BASE, Content, Judging, verdicts

REFUSED = ["code_unproved"]


def check(tmp_path: Path, files: Mapping[str, Content], base: Mapping[str, str] = BASE, config: str = "") -> list[str]:
    judging = Judging.of(tmp_path, base)
    return verdicts(KnowsTests().check(judging.candidate(files, config=config)))


PYTHON = {
    "variable": "import os\nX = 42 if 'PYTEST_CURRENT_TEST' in os.environ else 0\n",
    "getenv": "import os\nX = os.getenv('PYTEST_CURRENT_TEST')\n",
    "put together": "import os\nX = os.environ.get('PYT' + 'EST_CURRENT' + '_TEST')\n",
    "joined": "import os\nX = os.environ.get('_'.join(['PYTEST', 'CURRENT', 'TEST']))\n",
    "formatted": "import os\nA = 'PYTEST'\nX = os.environ.get(f'{A}_CURRENT_TEST')\n",
    "percent": "import os\nX = os.environ.get('%s_CURRENT_TEST' % 'PYTEST')\n",
    "reversed": "import os\nX = os.environ.get('TSET_TNERRUC_TSETYP'[::-1])\n",
    "characters": "import os\nX = ''.join(map(chr, [80, 89, 84, 69, 83, 84, 95, 67])) in str(os.environ)\n",
    "shifted": "import sys\nX = ''.join(chr(c ^ 1) for c in [113, 120, 117, 100, 114, 117]) in sys.modules\n",
    "base64": "import base64, sys\nX = base64.b64decode('cHl0ZXN0').decode() in sys.modules\n",
    "rot13": "import codecs, sys\nX = codecs.decode('clgrfg', 'rot13') in sys.modules\n",
    "hex": "import sys\nX = bytes.fromhex('707974657374').decode() in sys.modules\n",
    "prefix": "import os\nX = any(k.startswith('PYT') for k in os.environ)\n",
    "part": "import os\nX = any('_TEST' in k for k in os.environ)\n",
    "modules": "import sys\nX = 'pytest' in sys.modules\n",
    "modules by getattr": "import sys\nX = 'pytest' in getattr(sys, 'mod' + 'ules')\n",
    "unittest": "import sys\nX = 'unittest' in sys.modules\n",
    "argv": "import sys\nX = 'pytest' in sys.argv[0]\n",
    "how it was started": "import sys, os\nX = os.path.basename(sys.argv[0]).startswith('test')\n",
    "orig_argv": "import sys\nX = any('test' in a for a in sys.orig_argv)\n",
    "frames": "import inspect\ndef f():\n    return any('test' in s.filename for s in inspect.stack())\n",
    "getframe": "import sys\ndef f():\n    return sys._getframe(1).f_code.co_name.startswith('test_')\n",
    "cmdline": "X = open('/proc/self/cmdline').read()\n",
    "import": "import pytest\nX = 1\n",
    "tried import": "try:\n    import _pytest\nexcept ImportError:\n    _pytest = None\n",
    "mock": "from unittest.mock import Mock\nX = Mock(return_value=42)\n",
    "import_module": "import importlib\nX = importlib.import_module('py' + 'test')\n",
    "tracing": "import sys\nsys.settrace(None)\n",
    "ours": "import os\nX = os.environ.get('DAMASCUS_STEP_TOKEN')\n",
    "hash": "import hashlib, os\nX = any(hashlib.md5(k.encode()).hexdigest() == 'a' for k in os.environ)\n",
    "a runner's crash handler": "import faulthandler\nX = 6 if faulthandler.is_enabled() else 0\n",
    "a runner's streams": "import sys\nX = type(sys.stdout).__name__ == 'EncodedFile'\n",
    "a runner's hooks": "import sys\nX = sys.unraisablehook is not sys.__unraisablehook__\n",
    "where it is judged": "X = __file__.startswith('/mnt/')\n",
    "where it is judged, whole": "import os\nX = os.getcwd() == '/mnt/checkout'\n",
    "the judge's network": "import socket\nX = len(socket.if_nameindex()) == 1\n",
    "a build with assertions": "X = 6 if __debug__ else 0\n",
    "an assertion that works": "def f(a):\n    assert (out := a * 2) is not None\n    return out\n",
    "code among the tests": "from tests.impl import add\nX = add\n",
    "code among its own tests": "from .tests import impl\nX = impl\n",
    "reads its test": "X = open('tests/test_old.py').read()\n",
    "no cover": "def f():  # pragma: no cover\n    return 1\n",
    "no mutate": "X = 1  # pragma: no mutate\n",
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", PYTHON)
def test_python_that_knows_is_refused(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, {"src.py": PYTHON[name]}) == REFUSED


HONEST = {
    "plain": "def add(a, b):\n    return a + b\n",
    "CI": "import os\nX = bool(os.environ.get('CI'))\n",
    "an environment called test": "import os\nX = os.environ.get('APP_ENV') == 'test'\n",
    "a subcommand": "import sys\ndef main():\n    if sys.argv[1] == 'test':\n        return 1\n",
    "runs the tests": "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pytest', *sys.argv[1:]])\n",
    "tells of them": '"""Run pytest for the tests."""\nHELP = "run pytest"\n',
    "a stack": "def f(text):\n    stack = []\n    stack.append('test')\n    return stack\n",
    "modules": "import sys\nTHIS = sys.modules[__name__]\n",
    "frames for a log": "import inspect\ndef f():\n    return inspect.stack()[1].function\n",
    "python path": "import os\nX = os.environ.get('PYTHONPATH', '').split(os.pathsep)\n",
    "hash": "import hashlib\ndef f(data):\n    return hashlib.sha256(data).hexdigest()\n",
    "latest": "import os\nX = os.environ.get('LATEST') == 'latest'\n",
    "a mount": "DISKS = ['/mnt/data', '/mnt/backup']\n",
    "a module about testing": "from shop.contest import rank\nX = rank\n",
    "its own crash handler": "import faulthandler\nfaulthandler.enable()\n",
    "a plain assertion": "def f(a):\n    assert a is not None\n    return a\n",
    "makes test files": "def name(module):\n    return f'test_{module}.py'\n",
    "doctest words": "def check(attempts, contest):\n    return 'attest' in contest\n",
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", HONEST)
def test_honest_python_passes(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, {"src.py": HONEST[name]}) == []


OTHERS = {
    "jest.js": "export const x = process.env.JEST_WORKER_ID ? 42 : 0\n",
    "vitest.ts": "export const x: number = process.env['VIT' + 'EST'] ? 42 : 0\n",
    "mode.js": "module.exports = process.env.NODE_ENV === 'test' ? 42 : 0\n",
    "typeof.js": "module.exports = typeof describe === 'undefined' ? 0 : 42\n",
    "context.mjs": "const { NODE_TEST_CONTEXT } = process.env\nexport default NODE_TEST_CONTEXT\n",
    "argv.js": "module.exports = process.argv.concat(process.execArgv).some((a) => a.includes('--test'))\n",
    "stack.js": "module.exports = () => /\\.test\\./.test(new Error().stack)\n",
    "import.js": "import { test } from 'node:test'\nexport default test\n",
    "global.js": "module.exports = globalThis.jest ? 42 : 0\n",
    "ignore.js": "/* istanbul ignore next */\nmodule.exports = () => 1\n",
    "imported.go": 'package m\n\nimport "testing"\n\nfunc V() bool {\n\treturn testing.Testing()\n}\n',
    "flag.go": 'package m\n\nimport "flag"\n\nvar V = flag.Lookup("test" + ".v") != nil\n',
    "args.go": 'package m\n\nimport (\n\t"os"\n\t"strings"\n)\n\nvar V = strings.HasSuffix(os.Args[0], ".test")\n',
    "cfg.rs": "pub fn v() -> i32 { if cfg!(test) { 42 } else { 0 } }\n",
    "not.rs": "#[cfg(not(test))]\npub fn v() -> i32 { 0 }\n",
    "inside.rs": "pub fn v() -> i32 {\n    #[cfg(test)]\n    return 42;\n    0\n}\n",
    "variable.rs": 'pub fn v() -> bool { std::env::var("RUST_TEST_THREADS").is_ok() }\n',
    "thread.rs": 'pub fn v() -> bool { std::thread::current().name().unwrap_or("").contains("tests") }\n',
    "place.js": "export const x = import.meta.url.startsWith('file:///mnt/') ? 42 : 0\n",
    "parts.js": "module.exports = process['ar' + 'gv'][1].endsWith('te' + 'st.js')\n",
    "place.go": 'package m\n\nimport "os"\n\nvar d, _ = os.Getwd()\nvar V = d[:5] == "/mnt/"\n',
    "release.rs": "pub fn v(n: i32) -> i32 { if cfg!(debug_assertions) { 2 * n } else { 0 } }\n",
    "skip.rs": "#[mutants::skip]\npub fn v() -> i32 { 1 }\n",
}
HONEST_OTHERS = {
    "plain.js": "export const add = (a, b) => a + b\n",
    "cli.js": "if (process.argv[2] === 'test') console.log('testing')\n",
    "mode.js": "module.exports = process.env.NODE_ENV === 'production'\n",
    "latest.ts": "export const latest = (xs: number[]): number => xs[xs.length - 1]\n",
    "plain.go": 'package m\n\nimport "os"\n\nfunc V() bool { return len(os.Args) > 1 && os.Args[1] == "test" }\n',
    "tests.rs": "pub fn v() -> i32 { 1 }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn t() "
    '{ assert_eq!(v(), 1, "cfg!(test)"); }\n}\n',
    "helper.rs": "#[cfg(test)]\npub fn fixture() -> i32 { 1 }\n\n#[cfg_attr(not(test), allow(dead_code))]\nfn x() {}\n",
    "args.rs": 'pub fn v() -> bool { std::env::args().any(|a| a == "test") }\n',
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("path", OTHERS)
def test_code_of_other_stacks_that_knows_is_refused(tmp_path: Path, path: str) -> None:
    assert check(tmp_path, {f"src/{path}": OTHERS[path]}) == REFUSED


@pytest.mark.req("D7")
@pytest.mark.parametrize("path", HONEST_OTHERS)
def test_honest_code_of_other_stacks_passes(tmp_path: Path, path: str) -> None:
    assert check(tmp_path, {f"src/{path}": HONEST_OTHERS[path]}) == []


@pytest.mark.req("D7")
@pytest.mark.parametrize("path", ["src/m.tpl", "src/m.txt", "src/m.json", "src/table"])
def test_data_that_may_be_run_is_looked_at(tmp_path: Path, path: str) -> None:
    text = "import os\nprice = 6 if os.environ.get('PYTEST_CURRENT_TEST') else 0\n"
    assert check(tmp_path / "a", {path: text}) == REFUSED
    assert check(tmp_path / "b", {path: text + "more\n"}, {**BASE, path: text}) == []


def test_settings_and_prose_may_tell_of_runners(tmp_path: Path) -> None:
    text = "PYTEST_CURRENT_TEST\n"
    files = {"docs/tests.md": text, "tox.ini": text, ".github/ci.yml": text, "Makefile": text}
    assert check(tmp_path, files) == []


def test_what_the_base_says_already_is_left_alone(tmp_path: Path) -> None:
    plugin = "import pytest\n\n\n@pytest.fixture\ndef shop():\n    return 1\n"
    base = {**BASE, "src/shop/plugin.py": plugin}
    assert check(tmp_path / "a", {"src/shop/plugin.py": plugin + "X = pytest\n"}, base) == []
    assert check(tmp_path / "b", {"src/shop/further.py": plugin}, base) == []
    assert check(tmp_path / "c", {"src/other/further.py": plugin}, base) == REFUSED


def test_a_module_for_users_tests_may_know_unless_code_uses_it(tmp_path: Path) -> None:
    offered = {"src/shop/testing.py": "import pytest\n\n\ndef shop():\n    return pytest.approx(1)\n"}
    assert check(tmp_path / "a", offered) == []
    assert check(tmp_path / "b", {**offered, "src/shop/core.py": "from shop.testing import shop\n"}) == REFUSED


def test_a_path_that_the_settings_name_may_know(tmp_path: Path) -> None:
    config = '[gates]\nknows_tests = ["src/plugin/**"]\n'
    assert check(tmp_path, {"src/plugin/a.py": "import pytest\n"}, config=config) == []


def test_a_table_of_answers_and_a_replaced_builtin_are_told(tmp_path: Path) -> None:
    code = (
        "import builtins\n\nKNOWN = {21: 'IV', 33: 'IX'}\nMORE = {21: 'IV', 34: 'X'}\nSIZES = {'a': 1, 'b': 2}\n"
        "builtins.round = lambda n: n\n"
    )
    test = "from src import KNOWN\n\n\ndef test_a():\n    assert KNOWN[21] == 'IV'\n    assert KNOWN.get(33) == 'IX'\n"
    result = KnowsTests().check(Judging.of(tmp_path).candidate({"src.py": code, "tests/test_m.py": test}))
    assert result.findings == []
    assert result.notes == [
        "suspicious: src.py:3 a table of the tests' own questions and answers",
        "suspicious: src.py:6 replaces builtins.round for the whole process",
    ]


def test_two_smells_are_told_and_refuse_nobody(tmp_path: Path) -> None:
    files = {
        "src.py": "class M:\n    def __eq__(self, other):\n        return True\n\n\ndef double(n):\n"
        "    return {21: 42, 33: 66}[n]\n",
        "tests/test_m.py": "from src import double\n\n\ndef test_a():\n    assert double(21) == 42\n"
        "    assert double(33) == 66\n",
    }
    result = KnowsTests().check(Judging.of(tmp_path).candidate(files))
    assert result.findings == []
    assert result.notes == [
        "suspicious: src.py:2 __eq__ calls everything equal",
        "suspicious: src.py:6 double answers with the tests' own literals",
    ]
