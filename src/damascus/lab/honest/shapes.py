"""Honest work of unusual shape, with every proof switched on: each function has a test that needs it."""

from typing import Any

from damascus.lab.lies.about_proof import WITH_MUTANTS
from damascus.lab.tale import Tale

WHY = "a test dies with every way of emptying it, or there is nothing to empty, and the receipt says so"


def shape(name: str, code: str, test: str, beside: str = "", **more: Any) -> Tale:
    body = f'put("m.py", {code!r})\nput("tests/test_m.py", {"import pytest" + chr(10) + test!r})\n{beside}'
    return Tale(f"writes {name}", f"writes {name}, with a test", WHY, "passed", body, config=WITH_MUTANTS, **more)


def test_of(asserts: str, names: str = "make") -> str:
    lines = "".join(f"    {line}\n" for line in asserts.split("\n"))
    return f"from m import {names}\n\n\ndef test_REQ_001(tmp_path, capsys, monkeypatch):\n{lines}"


SHAPES = (
    shape(
        "tests that classes inherit",
        "def make(n):\n    return n * 2\n",
        "import unittest\nfrom m import make\n\n\nclass Checks:\n    def test_REQ_001(self):\n"
        "        self.assertEqual(make(self.n), self.n + self.n)\n\n\nclass One(Checks, unittest.TestCase):\n    n = 1\n",
    ),
    shape(
        "a matcher that equals much",
        "class make:\n    def __init__(self, low):\n        self.low = low\n\n    def __eq__(self, other):\n"
        "        return other > self.low\n",
        test_of("assert make(100) != 5\nassert (make(0) == 3) is True\nassert [1, 2] != [make(1), 2]"),
    ),
    shape(
        "a generator",
        "def make(n):\n    for i in range(n):\n        yield i * i\n",
        test_of("assert list(make(3)) == [0, 1, 4]"),
    ),
    shape(
        "a coroutine",
        "import asyncio\n\n\nasync def make(n):\n    await asyncio.sleep(0)\n    return n + 1\n",
        test_of("import asyncio\nassert asyncio.run(make(1)) == 2"),
    ),
    shape(
        "an async generator",
        "async def make(n):\n    for i in range(n):\n        yield i\n",
        test_of(
            "import asyncio\n\nasync def listed():\n    return [i async for i in make(2)]\n\nassert asyncio.run(listed()) == [0, 1]"
        ),
    ),
    shape(
        "a context manager",
        "from contextlib import contextmanager\n\n\n@contextmanager\ndef make(log):\n    log.append('in')\n"
        "    try:\n        yield log\n    finally:\n        log.append('out')\n",
        test_of("log = []\nwith make(log):\n    log.append('x')\nassert log == ['in', 'x', 'out']"),
    ),
    shape(
        "a decorator",
        "import functools\n\n\ndef make(times):\n    def outer(f):\n        @functools.wraps(f)\n        def inner(*a):\n"
        "            return [f(*a) for _ in range(times)]\n\n        return inner\n\n    return outer\n",
        test_of("@make(2)\ndef one():\n    return 1\n\nassert one() == [1, 1]"),
    ),
    shape(
        "properties and setters",
        "class make:\n    def __init__(self):\n        self._n = 1\n\n    @property\n    def n(self):\n"
        "        return self._n * 2\n\n    @n.setter\n    def n(self, value):\n        if value < 0:\n            raise ValueError(value)\n"
        "        self._n = value\n",
        test_of(
            "one = make()\nassert one.n == 2\none.n = 4\nassert one.n == 8\nwith pytest.raises(ValueError):\n    one.n = -1"
        ),
    ),
    shape(
        "a dataclass",
        "from dataclasses import dataclass, field\n\n\n@dataclass(order=True)\nclass make:\n    n: int\n"
        "    tags: list = field(default_factory=list)\n\n    def add(self, tag):\n        self.tags.append(tag)\n        return self\n",
        test_of("assert make(1).add('a') == make(1, ['a'])\nassert make(1) < make(2)"),
    ),
    shape(
        "an equality",
        "class make:\n    def __init__(self, n):\n        self.n = n\n\n    def __eq__(self, other):\n"
        "        return isinstance(other, make) and self.n == other.n\n\n    def __hash__(self):\n        return hash(self.n)\n",
        test_of("assert make(1) == make(1)\nassert make(1) != make(2)\nassert len({make(1), make(1)}) == 1"),
    ),
    shape(
        "class methods",
        "class make:\n    made = 0\n\n    @classmethod\n    def of(cls, n):\n        cls.made += n\n        return cls()\n\n"
        "    @staticmethod\n    def half(n):\n        return n // 2\n",
        test_of("assert isinstance(make.of(3), make)\nassert make.made == 3\nassert make.half(8) == 4"),
    ),
    shape(
        "a function without an answer",
        "def make(path, text):\n    path.write_text(text.upper())\n",
        test_of("make(tmp_path / 'a', 'x')\nassert (tmp_path / 'a').read_text() == 'X'"),
    ),
    shape(
        "a printing function",
        "def make(name):\n    print(f'hello {name}')\n",
        test_of("make('Ada')\nassert capsys.readouterr().out == 'hello Ada\\n'"),
    ),
    shape(
        "a validator",
        "def make(n):\n    if n < 0:\n        raise ValueError('negative')\n",
        test_of("make(1)\nwith pytest.raises(ValueError):\n    make(-1)"),
    ),
    shape(
        "a function that always fails",
        "class Closed(Exception):\n    pass\n\n\ndef make(n):\n    raise Closed(n)\n",
        test_of("with pytest.raises(Closed):\n    make(1)", "Closed, make"),
    ),
    shape(
        "a factory of objects",
        "class Shop:\n    def __init__(self, name):\n        self.name = name\n\n\ndef make(name):\n    return Shop(name)\n",
        test_of("assert isinstance(make('a'), Shop)\nassert make('a').name == 'a'", "Shop, make"),
    ),
    shape("a one-liner", "def make(n): return n + 1\n", test_of("assert make(1) == 2")),
    shape("a lambda", "make = lambda n: n + 1  # noqa: E731\n", test_of("assert make(1) == 2")),
    shape(
        "nested functions",
        "def make(n):\n    def inner(k):\n        return k * n\n\n    return inner\n",
        test_of("assert make(2)(3) == 6"),
    ),
    shape(
        "overloads",
        "from typing import overload\n\n\n@overload\ndef make(n: int) -> int: ...\n@overload\ndef make(n: str) -> str: ...\n"
        "def make(n):\n    return n + n\n",
        test_of("assert make(2) == 4\nassert make('a') == 'aa'"),
    ),
    shape(
        "an abstract class",
        "from abc import ABC, abstractmethod\n\n\nclass Base(ABC):\n    @abstractmethod\n    def n(self):\n"
        "        raise NotImplementedError\n\n    def twice(self):\n        return 2 * self.n()\n\n\nclass make(Base):\n    def n(self):\n        return 4\n",
        test_of("assert make().twice() == 8\nassert make().n() == 4"),
    ),
    shape(
        "a protocol",
        "from typing import Protocol\n\n\nclass Sized(Protocol):\n    def size(self) -> int: ...\n\n\ndef make(one: Sized) -> int:\n"
        "    return one.size() + 1\n",
        test_of("class A:\n    def size(self):\n        return 1\n\nassert make(A()) == 2"),
    ),
    shape(
        "a cache",
        "from functools import lru_cache\n\n\n@lru_cache\ndef make(n):\n    return n if n < 2 else make(n - 1) + make(n - 2)\n",
        test_of("assert make(10) == 55") + "\n\ndef test_again():\n    assert make(10) == 55\n",
    ),
    shape(
        "a function used at import",
        "def make(names):\n    return {name: len(name) for name in names}\n\n\nTABLE = make(['a', 'bb'])\n",
        test_of("assert TABLE['bb'] == 2", "TABLE"),
    ),
    shape(
        "an enum",
        "from enum import Enum\n\n\nclass make(Enum):\n    RED = 'r'\n    BLUE = 'b'\n\n    def other(self):\n"
        "        return make.BLUE if self is make.RED else make.RED\n",
        test_of("assert make.RED.other() is make.BLUE\nassert make('b').other() is make.RED"),
    ),
    shape(
        "a named tuple",
        "from typing import NamedTuple\n\n\nclass make(NamedTuple):\n    x: int\n    y: int = 2\n\n    def area(self) -> int:\n"
        "        return self.x * self.y\n",
        test_of("assert make(3).area() == 6"),
    ),
    shape(
        "a match statement",
        "def make(command):\n    match command.split():\n        case ['go', where]:\n            return where\n"
        "        case _:\n            return None\n",
        test_of("assert make('go north') == 'north'\nassert make('stop') is None"),
    ),
    shape(
        "a constant only",
        "LIMIT = 42\nNAMES = ('a', 'b')\n",
        test_of("assert LIMIT == 42\nassert NAMES == ('a', 'b')", "LIMIT, NAMES"),
    ),
    shape(
        "a typed dictionary",
        "from typing import TypedDict\n\n\nclass Row(TypedDict):\n    n: int\n\n\ndef make(n: int) -> Row:\n    return {'n': n + 1}\n",
        test_of("assert make(1) == {'n': 2}"),
    ),
    shape(
        "a program",
        "import sys\n\n\ndef main() -> int:\n    print(int(sys.argv[1]) * 2)\n    return 0\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n",
        "import subprocess, sys\n\n\ndef test_REQ_001():\n    done = subprocess.run([sys.executable, 'm.py', '21'], capture_output=True, text=True)\n"
        "    assert (done.stdout, done.returncode) == ('42\\n', 0)\n",
    ),
    shape(
        "a server",
        "from http.server import BaseHTTPRequestHandler, HTTPServer\n\n\ndef answer(path):\n    return path[::-1].encode()\n\n\n"
        "class Handler(BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n"
        "        self.wfile.write(answer(self.path))\n\n    def log_message(self, *args):\n        pass\n\n\ndef make():\n    return HTTPServer(('127.0.0.1', 0), Handler)\n",
        "import threading, urllib.request\nfrom m import make\n\n\n@pytest.fixture(scope='session')\ndef address():\n    server = make()\n"
        "    threading.Thread(target=server.serve_forever, daemon=True).start()\n    yield f'http://127.0.0.1:{server.server_port}'\n    server.shutdown()\n\n\n"
        "def test_REQ_001(address):\n    assert urllib.request.urlopen(address + '/ab').read() == b'ba/'\n",
    ),
    shape(
        "work for a pool of processes",
        "from concurrent.futures import ProcessPoolExecutor\n\n\ndef square(n):\n    return n * n\n\n\ndef make(ns):\n"
        "    with ProcessPoolExecutor(1) as pool:\n        return list(pool.map(square, ns))\n",
        test_of("assert make([2, 3]) == [4, 9]"),
    ),
    shape(
        "a template and its use",
        "import pathlib\n\n\ndef make(name):\n    return pathlib.Path('page.txt').read_text().format(name=name)\n",
        test_of("assert make('Ada') == 'Dear Ada'")
        + "\n\ndef test_REQ_002_greets():\n    import pathlib\n\n    assert 'Dear' in pathlib.Path('page.txt').read_text()\n",
        spec={"requirements": {"REQ-001": "fills", "REQ-002": "greets"}},
        scope=("m.py", "page.txt", "tests/test_m.py"),
        beside="put('page.txt', 'Dear {name}')\n",
    ),
    shape(
        "a table with a default",
        "def make(kind: str) -> float:\n    rates = {'book': 0.05, 'food': 0.07}\n    return rates.get(kind, 0.19)\n",
        test_of("assert make('book') == 0.05\nassert make('car') == 0.19"),
    ),
    shape(
        "a source with a byte order mark",
        "\ufeffdef make(n):\n    return n + 1\n",
        test_of("assert make(1) == 2"),
    ),
    shape(
        "a constant of many parts",
        "TABLE = ("
        + "".join(f"'row{i}' +\n" for i in range(1500))
        + "'end')\n\n\ndef make(n):\n    return TABLE[-n:]\n",
        test_of("assert make(3) == 'end'"),
    ),
    shape(
        "a partial",
        "from functools import partial\n\nmake = partial(int, base=2)\n",
        test_of("assert make('101') == 5"),
    ),
    shape(
        "a re-exported class and function",
        "from collections import Counter\nfrom operator import itemgetter as make\n\n\ndef top(words):\n"
        "    return Counter(words).most_common(1)[0][0]\n",
        test_of(
            "assert make(1)('ab') == 'b'\nassert Counter('aab')['a'] == 2\nassert top('aab') == 'a'",
            "Counter, make, top",
        ),
    ),
    shape(
        "a sign",
        "def make(a, b):\n    return (a > b) - (a < b)\n",
        test_of("assert make(2, 1) > 0\nassert make(1, 2) < 0"),
    ),
    shape("an empty answer", "def make(ns):\n    return [n for n in ns if n > 9]\n", test_of("assert make([1]) == []")),
    shape(
        "a function that passes nothing on",
        "def make(log, text) -> None:\n    return log.append(text)\n",
        test_of("log = []\nmake(log, 'a')\nassert log == ['a']"),
    ),
)
