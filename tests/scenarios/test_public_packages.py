"""A real public package of each stack, fetched by its own client and set up in its own way: its stories are judged by
their own code. Only on CI, since it needs the package indexes: CI=1 pytest tests/scenarios/test_public_packages.py"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.yard import CONFIG, Yard, story

MINUTES = 300.0
INDEXES = re.compile(r"(?i)(pip|npm_config|cargo|go)_?\w*|(https?|no)_proxy|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS")
"""Variables that lead a client to the index that this machine uses."""
PYTHON = shlex.quote(sys.executable)
pytestmark = [
    pytest.mark.skipif(not os.environ.get("CI"), reason="needs the package indexes: CI=1 pytest " + __file__),
    pytest.mark.timeout(4 * MINUTES),
]


@dataclass(frozen=True)
class Package:
    """`fetch` fills a folder and returns the package's own; `adds` and `breaks` are the bodies of two agents."""

    fetch: Callable[[Path], Path]
    setup: str
    suite: str
    code: str
    new_test: str
    adds: str
    breaks: tuple[str, str]
    files: Mapping[str, str]
    programs: tuple[str, ...] = ()


def run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, timeout=MINUTES, stdout=subprocess.DEVNULL)


def unpacked(folder: Path) -> Path:
    with tarfile.open(next(folder.glob("*.t*gz"))) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    return next((folder / "unpacked").iterdir())


def from_pip(folder: Path) -> Path:
    run(
        folder,
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary=inflection",
        "inflection==0.5.1",
    )
    return unpacked(folder)


def from_npm(folder: Path) -> Path:
    run(folder, "npm", "pack", "--silent", "ms@2.1.3")
    return unpacked(folder)


def from_go(folder: Path) -> Path:
    (folder / "go.mod").write_text("module example.org/asks\n")
    run(folder, "go", "mod", "download", "rsc.io/quote@v1.5.2")
    cache = subprocess.run(["go", "env", "GOMODCACHE"], cwd=folder, check=True, capture_output=True, text=True)
    shutil.copytree(Path(cache.stdout.strip(), "rsc.io/quote@v1.5.2"), folder / "quote")
    run(folder, "chmod", "-R", "u+w", "quote")
    run(folder / "quote", "go", "mod", "tidy")
    return folder / "quote"


def from_cargo(folder: Path) -> Path:
    (folder / "src").mkdir()
    (folder / "src/lib.rs").touch()
    wanted = '[package]\nname = "asks"\nversion = "0.1.0"\n[dependencies]\nfnv = "=1.0.7"\n'
    (folder / "Cargo.toml").write_text(wanted)
    run(folder, "cargo", "vendor", "-q", "vendor")
    (folder / "vendor/fnv/.cargo-checksum.json").unlink()
    return folder / "vendor/fnv"


PACKAGES = {
    "python": Package(
        fetch=from_pip,
        setup=f"{PYTHON} -m venv .venv && .venv/bin/pip install -q -e . pytest",
        suite=".venv/bin/python -m pytest -q -p no:cacheprovider",
        code="inflection/__init__.py",
        new_test="test_shouted.py",
        adds='''
code.write_text(code.read_text() + "\\n\\ndef shouted(word: str) -> str:\\n    return word.upper() + '!'\\n")
test.write_text(
    "from inflection import shouted\\n\\n\\ndef test_REQ_001_shouted() -> None:\\n    assert shouted('a') == 'A!'\\n")
''',
        breaks=("def camelize(string", "def camelise(string"),
        files={".gitignore": ".venv/\n__pycache__/\n*.egg-info/\n"},
    ),
    "node": Package(
        fetch=from_npm,
        setup="npm install --no-audit --no-fund --silent",
        suite="node --test test/",
        code="index.js",
        new_test="test/hours.test.js",
        adds='''
code.write_text(code.read_text() + "\\nmodule.exports.hours = (n) => n * h;\\n")
test.write_text(
    "const test = require('node:test');\\nconst ms = require('..');\\n"
    "test('REQ-001 hours', () => require('node:assert').equal(ms.hours(2), 7200000));\\n")
''',
        breaks=("var s = 1000;", "var s = 1024;"),
        files={
            ".gitignore": "node_modules/\npackage-lock.json\n",
            "package.json": '{"name": "ms", "main": "./index", "dependencies": {"is-number": "7.0.0"}}\n',
            "test/ms.test.js": "const test = require('node:test');\nconst number = require('is-number');\n"
            "const assert = require('node:assert');\nconst ms = require('..');\n"
            "test('a second', () => assert.equal(number(ms('1s')) && ms('1s'), 1000));\n",
        },
        programs=("node", "npm"),
    ),
    "go": Package(
        fetch=from_go,
        setup="go mod download",
        suite="go test .",
        code="quote.go",
        new_test="loud_test.go",
        adds='''
code.write_text(code.read_text() + "\\nfunc Loud(word string) string { return word + \\"!\\" }\\n")
test.write_text(
    'package quote\\n\\nimport "testing"\\n\\nfunc TestREQ_001_Loud(t *testing.T) {\\n'
    '\\tif Loud("a") != "a!" {\\n\\t\\tt.Fatal("quiet")\\n\\t}\\n}\\n')
''',
        breaks=("Don't communicate by sharing memory", "Communicate by sharing memory"),
        files={},
        programs=("go",),
    ),
    "rust": Package(
        fetch=from_cargo,
        setup="cargo fetch -q && cargo build -q",
        suite="cargo test -q --offline",
        code="lib.rs",
        new_test="tests/req.rs",
        adds='''
code.write_text(code.read_text() + "\\n/// A word, louder.\\npub fn loud(n: u64) -> u64 { n + 1 }\\n")
test.parent.mkdir(exist_ok=True)
test.write_text("#[test]\\nfn req_001_loud() {\\n    assert_eq!(fnv::loud(1), 2);\\n}\\n")
''',
        breaks=("hash.wrapping_mul(0x100000001b3)", "hash.wrapping_mul(0x100000001b5)"),
        files={".gitignore": "target/\nCargo.lock\n"},
        programs=("cargo", "rustc"),
    ),
}  # fmt: skip


def text_files(folder: Path) -> dict[str, str]:
    found = {}
    for path in (each for each in sorted(folder.rglob("*")) if each.is_file() and not each.is_symlink()):
        try:
            found[path.relative_to(folder).as_posix()] = path.read_text()
        except UnicodeDecodeError:
            continue
    return found


@pytest.mark.req("D7")
@pytest.mark.parametrize("stack", list(PACKAGES))
def test_an_honest_story_lands_and_a_lying_one_does_not(tmp_path: Path, database_url: str, stack: str) -> None:
    package = PACKAGES[stack]
    if lacking := [name for name in package.programs if shutil.which(name) is None]:
        pytest.skip(f"install {' and '.join(lacking)} and put it on PATH")
    (tmp_path / "fetched").mkdir()
    own = package.fetch(tmp_path / "fetched")
    files = {name: text for name, text in text_files(own).items() if name != "damascus.toml"} | dict(package.files)
    assert package.breaks[0] in files[package.code]
    passed = ", ".join(f'"{name}"' for name in os.environ if INDEXES.fullmatch(name))
    limits = CONFIG.replace("timeout_seconds = 60.0", f"timeout_seconds = {MINUTES}")
    settings = f"[workspace]\nsetup = '''{package.setup}'''\nsetup_timeout_seconds = {MINUTES}\nenv = [{passed}]\n"
    yard = Yard(tmp_path, database_url, files=files, config=limits + settings)
    head = f'code, test = pathlib.Path("{package.code}"), pathlib.Path("{package.new_test}")\n'

    lie = f"code.write_text(code.read_text().replace({package.breaks[0]!r}, {package.breaks[1]!r}))\n"
    yard.add(story("swap", kind="refactor", scope=[package.code], command=package.suite), budget=1)
    yard.work(yard.agent(head + lie, "lies"))
    item = yard.item("swap")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "tests_failed"), yard.questions()

    yard.add(story("more", scope=[package.code, package.new_test], command=package.suite), budget=1)
    yard.work(yard.agent(head + package.adds, "adds"))
    assert yard.item("more")["phase"] == "done", (yard.questions(), yard.item("more")["last_feedback"])
    assert yard.on_main(package.new_test)
