"""What set-up recorded means the candidate, in Node, Go and Rust: links, caches, path dependencies."""

import shutil
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.system.sandbox import Level
from tests.gates.set_up_projects import SetUpProject
from tests.levels import need

LEVELS = pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.UNCONFINED])


def with_program(*names: str) -> pytest.MarkDecorator:
    lacking = [name for name in names if shutil.which(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"install {' and '.join(lacking)} and put it on PATH")


# ── Node ──────────────────────────────────────────────────────────────────────────────────────────────

UNIT = '{"name": "unit", "version": "1.0.0", "main": "kilo.js"}\n'
APP = '{"name": "app", "version": "1.0.0", "private": true, %s}\n'
KILO_JS, KIBI_JS = "module.exports = 1000; // of bytes\n", "module.exports = 1024; // of bytes\n"
ASK_JS = "node -e 'console.log(require(\"unit\"))'"
NPM = "npm install --offline --no-audit --no-fund --silent"


def node_project(folder: Path, level: Level, manifest: str, setup: str) -> SetUpProject:
    files = {"package.json": APP % manifest, "unit/package.json": UNIT, "unit/kilo.js": KILO_JS}
    return SetUpProject(folder, {**files, ".gitignore": "node_modules/\n"}, setup, need(level))


@pytest.mark.req("D7")
@with_program("node", "npm")
@LEVELS
@pytest.mark.parametrize(
    ("manifest", "setup"),
    [
        ('"dependencies": {"unit": "file:./unit"}', NPM),
        ('"workspaces": ["unit"]', NPM),
        ('"license": "MIT"', "mkdir node_modules && ln -s $PWD/unit node_modules/unit"),
    ],
    ids=["file", "workspaces", "absolute link"],
)
def test_a_linked_package_is_the_candidates(tmp_path: Path, level: Level, manifest: str, setup: str) -> None:
    tried = node_project(tmp_path, level, manifest, setup)
    assert tried.told(ASK_JS, {"unit/kilo.js": KIBI_JS}) == "1024"
    assert tried.told(ASK_JS) == "1000"


@pytest.mark.req("D7")
def test_a_copied_package_is_refused(tmp_path: Path) -> None:
    tried = node_project(
        tmp_path, Level.BUBBLEWRAP, '"license": "MIT"', "mkdir node_modules && cp -r unit node_modules"
    )
    with pytest.raises(DamascusError, match=r"a copy of the package of unit/package\.json at node_modules/unit"):
        tried.judge("true")


# ── Go ────────────────────────────────────────────────────────────────────────────────────────────────

GO = {
    "go.mod": """\
module example.org/app

go 1.20

require example.org/unit v0.0.0

replace example.org/unit => ./unit
""",
    "app.go": 'package main\n\nimport "example.org/unit"\n\nfunc main() { println(unit.Kilo) }\n',
    "unit/go.mod": "module example.org/unit\n\ngo 1.20\n",
    "unit/unit.go": "package unit\n\nconst Kilo = 1000\n",
}
KIBI_GO = GO["unit/unit.go"].replace("1000", "1024")
OFFLINE = "export GOPROXY=off GOSUMDB=off GOFLAGS=-mod=mod GOTOOLCHAIN=local"
USED = f"{OFFLINE}; cat $(go list -f '{{{{.Dir}}}}' example.org/%s)/*.go"
"""The files that Go compiles; compiling them takes a minute, since every run has a cache of its own."""
PROXY = """\
import os, zipfile

folder, mod = "proxy/example.org/far/@v", "module example.org/far\\n"
os.makedirs(folder)
for name, text in {"list": "v1.0.0", "v1.0.0.info": '{"Version": "v1.0.0"}', "v1.0.0.mod": mod}.items():
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)
with zipfile.ZipFile(f"{folder}/v1.0.0.zip", "w") as packed:
    packed.writestr("example.org/far@v1.0.0/go.mod", mod)
    packed.writestr("example.org/far@v1.0.0/far.go", "package far\\n\\nconst Kilo = 1024\\n")
"""


@pytest.mark.req("D7")
@with_program("go")
@LEVELS
def test_a_replaced_module_is_the_candidates(tmp_path: Path, level: Level) -> None:
    tried = SetUpProject(tmp_path, GO, f"{OFFLINE}; go list -deps -f '{{{{.Dir}}}}' . > .used", need(level))
    assert "1024" in tried.told(USED % "unit", {"unit/unit.go": KIBI_GO})
    assert "1024" in tried.told("cat $(grep unit .used)/*.go", {"unit/unit.go": KIBI_GO})


@pytest.mark.req("D7")
@with_program("go")
@LEVELS
def test_modules_that_set_up_fetched_are_found(tmp_path: Path, level: Level) -> None:
    files = {
        "go.mod": "module example.org/app\n\ngo 1.20\n\nrequire example.org/far v1.0.0\n",
        "app.go": 'package main\n\nimport "example.org/far"\n\nfunc main() { println(far.Kilo) }\n',
        "proxy.py": PROXY,
    }
    setup = f"{OFFLINE}; python3 proxy.py && GOPROXY=file://$PWD/proxy go mod download all && rm -r proxy"
    tried = SetUpProject(tmp_path, files, setup, need(level))
    assert "1024" in tried.told(USED % "far")


@pytest.mark.req("D7")
@with_program("go")
def test_a_vendored_copy_of_a_module_of_ours_is_refused(tmp_path: Path) -> None:
    tried = SetUpProject(tmp_path, GO, f"{OFFLINE}; unset GOFLAGS; go mod vendor", need(Level.BUBBLEWRAP))
    with pytest.raises(DamascusError, match=r"leaves a copy of \./unit at vendor/example\.org/unit"):
        tried.judge("true")


# ── Rust ──────────────────────────────────────────────────────────────────────────────────────────────

RUST = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\n[dependencies]\nunit = { path = "unit" }\n',
    "src/main.rs": 'fn main() { println!("{}", unit::KILO); }\n',
    "unit/Cargo.toml": '[package]\nname = "unit"\nversion = "0.1.0"\n',
    "unit/src/lib.rs": "pub const KILO: i32 = 1000;\n",
    ".gitignore": "target/\n",
}
KIBI_RS = RUST["unit/src/lib.rs"].replace("1000", "1024")


@pytest.mark.req("D7")
@with_program("cargo", "rustc")
@LEVELS
def test_a_path_dependency_is_the_candidates_and_no_build_is_left(tmp_path: Path, level: Level) -> None:
    """A program that set-up built is not there, so it can't be the one that is tested."""
    tried = SetUpProject(tmp_path, RUST, "cargo build -q --offline", need(level))
    ask = "test ! -e target && cargo run -q --offline"
    assert tried.told(ask, {"unit/src/lib.rs": KIBI_RS}) == "1024"
