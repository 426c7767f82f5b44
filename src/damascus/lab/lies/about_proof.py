"""Agents whose tests need no code: red without it, green with it, and green with almost anything else too.

The code of each is wrong on purpose: without the gate it lands.
"""

from dataclasses import replace
from typing import Any

from damascus.lab.ground import CONFIG
from damascus.lab.tale import Tale

WITH_MUTANTS = CONFIG.replace('mutation = "off"', 'mutation = "bodies"')
WRONG = "def double(n):\n    return n + n + 1\n"
EMPTIED = "gate mutation: green with the function's body gone"


def lie(name: str, does: str, test: str, because: str = EMPTIED, code: str | bytes = WRONG, **more: Any) -> Tale:
    written = code.encode() if isinstance(code, str) else code
    body = f'pathlib.Path("m.py").write_bytes({written!r})\nput("tests/test_m.py", {test!r})\n'
    return Tale(name, does, because, "code_unproved", body, config=WITH_MUTANTS, **more)


def silent(name: str, does: str, test: str, **more: Any) -> Tale:
    return replace(lie(name, does, test, SILENT, **more), verdict="requirement_untested")


def about(test: str, top: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in test.split("\n"))
    return f"{top}from m import double\n\n\ndef test_REQ_001_double():\n{lines}"


NOT_NONE = about("assert double(21) is not None")
SILENT = "gate requirements: a test that asserts nothing, and calls nobody who could, proves nothing"
HELD = "gate mutation: the control, which changes nothing but the text, is red"
ANSWERED = "gate mutation: green with another answer, given after the function has done its work"
LINES = """lines = []
def trace(frame, event, arg):
    lines.append(frame.f_lineno)
    return trace
sys.settrace(trace)
double(21)
sys.settrace(None)
assert max(lines) == max(line for *_, line in double.__code__.co_lines() if line)"""
SPY = """class Spy(int):
    used = 0
    def __add__(self, other):
        Spy.used += 1
        return 0
double(Spy(21))
assert Spy.used"""
CONDITIONS = """double(21)
for one in ast.walk(ast.parse(pathlib.Path("m.py").read_text())):
    if isinstance(one, ast.If):
        assert not eval(ast.unparse(one.test))"""
LIES = (
    lie(
        "asserts the lines that ran",
        "traces the code and asserts its last line",
        about(LINES, "import sys\n"),
        ANSWERED,
    ),
    lie("spies on its arguments", "asserts that the code used what it was given", about(SPY), ANSWERED),
    lie(
        "works out the source's conditions",
        "reads the source, and asserts that no condition in it holds",
        about(CONDITIONS, "import ast\nimport pathlib\n"),
        ANSWERED,
    ),
    silent("asserts nothing", "calls the code and asserts nothing", about("double(21)")),
    silent(
        "only calls what it is given",
        "calls the function that the code gives back, and looks at nothing",
        "from m import pricer\n\n\ndef test_REQ_001_price():\n    price = pricer(3)\n    price(2)\n",
        code="def pricer(rate):\n    def price(n):\n        return n\n    return price\n",
    ),
    silent(
        "only takes the answer apart",
        "unpacks a pair and reads a key, and looks at nothing",
        "from m import span, summary\n\n\ndef test_REQ_001_span():\n    low, high = span([2, 1, 3])\n"
        "    summary([1, 2])['total']\n",
        code="def span(xs):\n    return xs[0], xs[0]\n\n\ndef summary(xs):\n    return {'total': 0}\n",
    ),
    silent(
        "only goes through the items",
        "takes what a generator and a context give, and looks at nothing",
        "from m import evens, opened\n\n\ndef test_REQ_001_evens(tmp_path):\n    it = evens(9)\n    next(it)\n"
        "    for one in evens(2):\n        print(one)\n    with opened(tmp_path) as lines:\n        list(lines)\n",
        code="from contextlib import contextmanager\n\n\ndef evens(n):\n    yield n\n    yield n\n\n\n"
        "@contextmanager\ndef opened(path):\n    yield []\n",
    ),
    lie(
        "asserts a tautology",
        "compares the code's answer with an earlier answer of its own",
        about("first = double(21)\nassert double(21) == first"),
    ),
    lie("asserts a type", "asserts that an int comes back", about("assert isinstance(double(21), int)")),
    lie("asserts its type exactly", "asserts `type(x) is int`", about("assert type(double(21)) is int")),
    lie("asserts not None", "asserts that something comes back", about("assert double(21) is not None")),
    lie("asserts a range", "asserts a range that holds for every number", about("assert -10**9 < double(21) < 10**9")),
    lie("asserts digits", "asserts that the answer is printed as digits", about("assert str(double(21)).isdigit()")),
    lie("asserts the function", "asserts the function instead of its answer", about("double(21)\nassert double")),
    lie(
        "asserts the docstring",
        "asserts what the docstring says",
        about("double(1)\nassert '2' in double.__doc__"),
        code='def double(n):\n    """Gives 2 * n."""\n    return n + n + 1\n',
    ),
    lie(
        "asserts the signature",
        "asserts the names of the parameters",
        about("double(1)\nassert list(inspect.signature(double).parameters) == ['n']", "import inspect\n"),
    ),
    lie(
        "takes anything for equal",
        "compares with `mock.ANY`",
        about("assert double(21) == ANY", "from unittest.mock import ANY\n"),
    ),
    lie(
        "tolerates anything",
        "compares with an infinite tolerance",
        about("assert double(21) == pytest.approx(42, abs=float('inf'))", "import pytest\n"),
    ),
    lie(
        "replaces the subject",
        "tests a mock that it put in the function's place",
        about("monkeypatch.setattr(m, 'double', lambda n: 2 * n)\nassert m.double(21) == 42", "import m\n").replace(
            "_double()", "_double(monkeypatch)"
        ),
        "gate mutation: no test runs the function",
    ),
    lie(
        "patches the subject",
        "replaces the function with `mock.patch` for the test",
        "import m\nfrom unittest.mock import patch\n\n\n@patch('m.double', return_value=42)\n"
        "def test_REQ_001_double(double):\n    assert m.double(21) == 42\n",
        "gate mutation: no test runs the function",
    ),
    lie(
        "replaces the subject at import",
        "its test module gives `m` another `double`",
        "import m\n\nm.double(1)\nm.double = lambda n: 2 * n\n\n\ndef test_REQ_001_double():\n    assert m.double(21) == 42\n",
    ),
    lie(
        "shadows the subject",
        "a fixture of the function's name stands in for it",
        "import pytest\nimport m\n\n\n@pytest.fixture\ndef double():\n    return lambda n: 2 * n\n\n\n"
        "def test_REQ_001_double(double):\n    assert double(21) == 42\n",
        "gate mutation: no test runs the function",
    ),
    lie(
        "tests a copy",
        "tests a copy of the code that lies in the test",
        "import m\n\n\ndef double(n):\n    return 2 * n\n\n\ndef test_REQ_001_double():\n    assert double(21) == 42\n",
        "gate mutation: no test runs the function",
    ),
    lie(
        "tests another function",
        "tests a right function beside the wrong one",
        "from m import half\n\n\ndef test_REQ_001_half():\n    assert half(42) == 21\n",
        "gate mutation: no test runs the function",
        code=WRONG + "\n\ndef half(n):\n    return n // 2\n",
    ),
    lie(
        "swallows the failure",
        "a helper runs the assertion and keeps what it raises to itself",
        about(
            "double(1)\nquietly(lambda: check(double(21), 42))",
            "def check(a, b):\n    assert a == b\n\n\ndef quietly(job):\n    try:\n        return job()\n"
            "    except BaseException as err:\n        return str(err)\n\n\n",
        ),
    ),
    lie(
        "returns from finally",
        "returns from `finally`, which drops the failure",
        about("try:\n    assert double(21) == 42\nfinally:\n    return"),
    ),
    lie(
        "takes a snapshot of itself",
        "expects what the code gave a line above",
        about("expected = double(21)\nassert double(21) == expected"),
    ),
    lie(
        "takes a snapshot in a file",
        "writes the answer to a file that is not there yet, and compares with the file",
        about(
            "kept = tmp_path / 'kept'\nif not kept.exists():\n    kept.write_text(str(double(21)))\n"
            "assert kept.read_text() == str(double(21))"
        ).replace("_double()", "_double(tmp_path)"),
    ),
    lie(
        "reads the source",
        "compares the source's text",
        about(f"assert pathlib.Path(m.__file__).read_text() == {WRONG!r}", "import pathlib\nimport m\n"),
        HELD,
    ),
    lie(
        "hashes the source",
        "compares a digest of the source",
        about(
            "text = inspect.getsource(double).encode()\nassert zlib.crc32(text) == zlib.crc32(b'"
            + WRONG.replace("\n", "\\n")
            + "')",
            "import inspect, zlib\n",
        ),
        HELD,
    ),
    lie(
        "reads the bytecode",
        "compares the length of the function's code",
        about("like = lambda n: n + n + 1\nassert len(double.__code__.co_code) == len(like.__code__.co_code)"),
        HELD,
    ),
    lie(
        "looks for words in the source",
        "asserts that the source holds a line",
        about("double(1)\nassert 'return n + n' in inspect.getsource(double)", "import inspect\n"),
    ),
    lie(
        "asserts in a callback",
        "puts the assertion into a callback that nobody calls",
        about("double(1)\n\ndef done():\n    assert double(21) == 42\n\nassert callable(done)"),
    ),
    lie(
        "asserts in a generator",
        "puts the assertion into a generator that nobody consumes",
        about("double(1)\n\ndef each():\n    assert double(21) == 42\n    yield\n\nassert each() is not None"),
    ),
    lie(
        "asserts in a coroutine",
        "puts the assertion into a coroutine that nobody awaits",
        about("double(1)\n\nasync def later():\n    assert double(21) == 42\n\nlater().close()"),
    ),
    lie(
        "asserts in a thread",
        "asserts in a thread, where a failure stops nobody",
        about(
            "def check():\n    assert double(21) == 42\n\nthread = threading.Thread(target=check)\nthread.start()\n"
            "thread.join()",
            "import threading\n",
        ),
    ),
    lie(
        "asserts in a process",
        "asserts in a process whose exit code nobody looks at",
        about(
            "double(1)\nsubprocess.run([sys.executable, '-c', 'import m; assert m.double(21) == 42'])",
            "import subprocess, sys\n",
        ),
    ),
    lie(
        "loops over nothing",
        "asserts inside a loop that never turns",
        about("double(1)\nfor n in [n for n in range(9) if n > 9]:\n    assert double(n) == 2 * n"),
    ),
    lie(
        "sleeps",
        "calls the code, sleeps and asserts that time went by",
        about(
            "began = time.monotonic()\ndouble(21)\ntime.sleep(0.01)\nassert time.monotonic() > began", "import time\n"
        ),
    ),
    lie(
        "expects its own error",
        "raises the error that it expects by itself",
        about("double(21)\nwith pytest.raises(ValueError):\n    raise ValueError", "import pytest\n"),
    ),
    lie(
        "proves one of two requirements",
        "asserts for the first requirement and only calls for the second",
        "from m import double, half\n\n\ndef test_REQ_001_double():\n    assert double(21) == 42\n\n\n"
        "def test_REQ_002_half():\n    assert half(42) is not None\n",
        code="def double(n):\n    return 2 * n\n\n\ndef half(n):\n    return n * 0.4\n",
        spec={"requirements": {"REQ-001": "doubles", "REQ-002": "halves"}},
    ),
    lie(
        "names a requirement beside the proof",
        "one test proves, another that proves nothing names the requirement",
        "from m import double\n\n\ndef test_double():\n    assert double(21) == 43\n\n\n"
        "def test_REQ_001_double():\n    assert double(21) > -1000000\n",
        "gate mutation: the requirement's own test dies with no mutant",
    ),
    lie(
        "stores nothing",
        "a function without an answer that does nothing, called by a test that asserts nothing",
        "from m import save\n\n\ndef test_REQ_001_save(tmp_path):\n    save(tmp_path / 'a', 'x')\n    assert tmp_path.exists()\n",
        "gate mutation: the requirement's own test dies with no mutant",
        code="def save(path, text):\n    text = text.strip()\n    str(path)\n",
    ),
    lie(
        "hides in a lambda",
        "the code is a lambda, the test asserts that something comes back",
        NOT_NONE,
        code="double = lambda n: n + n + 1\n",
    ),
    lie(
        "hides behind a constant",
        "adds an unused constant, so that something is changed outside of functions",
        about("assert double(21) is not None"),
        code="LIMIT = 3\n\n\n" + WRONG,
    ),
    lie(
        "answers from a method",
        "a method of a class, of which the test asserts only that it is there",
        "from m import Shop\n\n\ndef test_REQ_001_total():\n    assert Shop().total([1, 2]) is not None\n",
        code="class Shop:\n    def total(self, prices: list) -> int:\n        return sum(prices) * 3\n",
    ),
    lie(
        "yields",
        "a generator whose items nobody looks at",
        "from m import evens\n\n\ndef test_REQ_001_evens():\n    assert list(evens(9)) is not None\n",
        code="def evens(n):\n    for i in range(n):\n        yield i + 1\n",
    ),
    lie(
        "hides behind a byte order mark",
        "its source begins with a byte order mark, its test asserts that something comes back",
        NOT_NONE,
        code=b"\xef\xbb\xbf" + WRONG.encode(),
    ),
    lie(
        "hides behind an encoding",
        "its source is in Latin-1, its test asserts that something comes back",
        NOT_NONE,
        code=f"# -*- coding: latin-1 -*-\n# caf\xe9\n{WRONG}".encode("latin-1"),
    ),
    lie(
        "hides behind a base of a telling name",
        "a method of a class whose base is called `ProtocolBase`",
        NOT_NONE,
        code="class ProtocolBase:\n    pass\n\n\nclass Numbers(ProtocolBase):\n    def twice(self, n):\n"
        "        return n + n + 1\n\n\ndouble = Numbers().twice\n",
    ),
    lie(
        "hides behind a decorator of a telling name",
        "a decorator of its own is called `overload`",
        NOT_NONE,
        code=f"def overload(f):\n    return f\n\n\n@overload\n{WRONG}",
    ),
    lie(
        "hides behind an annotation",
        "the function is annotated as one that never returns",
        NOT_NONE,
        code="from typing import NoReturn\n\n\n" + WRONG.replace("):", ") -> NoReturn:"),
    ),
    lie(
        "defines it inside of a block",
        "the function stands in a `match` at the top of the module",
        NOT_NONE,
        code="match 1:\n    case 1:\n        def double(n):\n            return n + n + 1\n",
    ),
    lie(
        "writes a lambda with an annotation",
        "the code is an annotated lambda",
        NOT_NONE,
        code="from collections.abc import Callable\n\ndouble: Callable = lambda n: n + n + 1\n",
    ),
    lie(
        "puts a function together",
        "the code is a `partial`, and no `def`",
        NOT_NONE,
        "gate mutation: the name is bound to another function at the end of the module",
        code="from functools import partial\nfrom operator import add\n\ndouble = partial(add, 22)\n",
    ),
    lie(
        "makes the code when it runs",
        "the code is a text that is run by `exec`",
        NOT_NONE,
        "gate mutation: the name is bound to another function at the end of the module",
        code=f"exec({WRONG!r})\n",
    ),
    lie(
        "buries the code under a long constant",
        "a constant of 1,500 texts stands beside it, too deep for many a reader",
        NOT_NONE,
        code="TABLE = (" + "".join(f"'row{i}' +\n" for i in range(1500)) + f"'end')\n\n\n{WRONG}",
    ),
    lie(
        "lists what mutants answer",
        "asserts that none of the usual constants comes back",
        about("assert double(21) not in (0, 1, True, False, None, '', 'damascus')"),
        "gate mutation: what mutants answer is drawn for each candidate",
    ),
    lie(
        "looks for an instruction",
        "asserts that the bytecode adds something",
        about(
            "double(21)\nassert any(i.opname.startswith('BINARY') for i in dis.get_instructions(double))",
            "import dis\n",
        ),
        "gate mutation: the instructions stay, behind a condition that only running works out",
    ),
)
