"""What set-up may leave of the project's own sources: paths that mean the checkout, never copies or builds of it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.git.made import holds_packages
from damascus.git.own_products import own_products
from damascus.stacks.own_code import Sources

CODE = "def kilo():\n    return 1000  # bytes, as disks are sold\n"
SCRIPT = 'import { readFileSync } from "node:fs";\nexport const kilo = () => 1000;\n'
MANIFEST = '{"name": "sizes", "version": "1.0.0", "main": "dist/bundle.js", "type": "module"}\n'
SITE = ".venv/lib/python3.11/site-packages"
INFO = f"{SITE}/sizes-1.0.dist-info/direct_url.json"
PNPM = "node_modules/.pnpm/sizes@file/node_modules/sizes"
VENV = {".venv/pyvenv.cfg": "home = /usr/bin\n"}
ELF = b"\x7fELF\x02\x01\x01" + bytes(64)
GO_TOOL = ELF + b"\xff Go buildinf:\npath\texample.org/other/tool\nmod\texample.org/other/tool\tv1.2.3\th1:x\n"
GO_OURS = ELF + b"\xff Go buildinf:\npath\texample.org/sizes/cmd/sizes\nmod\texample.org/sizes\t(devel)\t\n"
BASE = {
    "pyproject.toml": "[project]\nname = 'sizes'\n",
    "src/sizes/__init__.py": CODE,
    "src/index.ts": SCRIPT,
    "src/units/kilo.ts": SCRIPT,
    "packages/a/src/run.ts": SCRIPT,
    "package.json": MANIFEST,
    "go.mod": "module example.org/sizes\n",
    "vendored/six.py": "# a module of others, kept in this tree as well\n",
    "tests/test_sizes.py": "def test_sizes():\n    assert True is not False\n",
}
Content = str | bytes


def found(tmp_path: Path, made: Mapping[str, Content], base: Mapping[str, str] = BASE, home: bool = False) -> list[str]:
    tree, own = tmp_path / "tree", tmp_path / "home"
    for folder in (tree, own):
        folder.mkdir(exist_ok=True)
    for name, content in made.items():
        path = (own if home else tree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    sources = Sources(tree, base, "/mnt/checkout", lambda path: base[path].encode())
    roots = sorted({name.split("/")[0] for name in made} if not home else ())
    return [each.path for each in own_products(sources, roots, own)]


def direct(url: str, editable: bool) -> str:
    return (
        f'{{"url": "{url}", "dir_info": {{"editable": {str(editable).lower()}}}}}'
        if editable
        else (f'{{"url": "{url}", "dir_info": {{}}}}')
    )


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("made", "where"),
    [
        ({**VENV, INFO: direct("file:///mnt/checkout", False)}, f"{SITE}/sizes-1.0.dist-info"),
        ({**VENV, INFO: '{"url": "file:///mnt/checkout/dist/sizes.whl"}'}, f"{SITE}/sizes-1.0.dist-info"),
        ({**VENV, f"{SITE}/sizes/__init__.py": CODE}, f"{SITE}/sizes/__init__.py"),
        ({**VENV, f"{SITE}/sizes-1.0.egg/sizes/__init__.py": CODE}, f"{SITE}/sizes-1.0.egg/sizes/__init__.py"),
        ({"build/lib/sizes/__init__.py": CODE}, "build/lib/sizes/__init__.py"),
        ({"node_modules/sizes/package.json": MANIFEST}, "node_modules/sizes"),
        ({f"{PNPM}/package.json": MANIFEST}, PNPM),
        ({"vendor/modules.txt": "# example.org/unit v0.0.0 => ./unit\n## explicit\n"}, "vendor/example.org/unit"),
        ({"src/sizes/_fast.cpython-311-x86_64-linux-gnu.so": ELF}, "src/sizes/_fast.cpython-311-x86_64-linux-gnu.so"),
        ({"bin/sizes": GO_OURS}, "bin/sizes"),
        ({"sizes": ELF}, "sizes"),
        ({"dist/index.js": "var kilo = () => 1000;"}, "dist/index.js"),
        ({"dist/esm/units/kilo.mjs": "x"}, "dist/esm/units/kilo.mjs"),
        ({"dist/src/units/kilo.js": "x"}, "dist/src/units/kilo.js"),
        ({"src/units/kilo.js": "x"}, "src/units/kilo.js"),
        ({"packages/a/dist/run.js": "x"}, "packages/a/dist/run.js"),
        ({"dist/bundle.js": "x"}, "dist/bundle.js"),
        ({"public/all.js": "// src/units/kilo.ts\nvar kilo;\n"}, "public/all.js"),
        ({"public/all.js": "x", "public/all.js.map": '{"sources": ["../src/units/kilo.ts"]}'}, "public/all.js"),
    ],
)  # fmt: skip
def test_copies_and_builds_are_found_by_name(tmp_path: Path, made: Mapping[str, Content], where: str) -> None:
    base = {**BASE, "src/sizes/_fast.c": "int kilo(void) { return 1000; }\n"}
    assert found(tmp_path, made, base) == [where]


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "made",
    [
        {**VENV, INFO: direct("file:///mnt/checkout", True), f"{SITE}/__editable__.sizes.pth": "/mnt/checkout/src\n"},
        {**VENV, INFO: direct("file:///mnt/other", False), f"{SITE}/o/__init__.py": "# a package of others, whole\n"},
        {**VENV, f"{SITE}/six.py": BASE["vendored/six.py"], f"{SITE}/_fast.so": ELF},
        {"node_modules/left/package.json": '{"name": "left"}', "node_modules/left/dist/index.js": SCRIPT},
        {"node_modules/esbuild/bin/esbuild": ELF, "node_modules/left/lib/units/kilo.js": "x"},
        {"vendor/modules.txt": "# example.org/other v1.0.0\n", "vendor/example.org/other/a.go": "package other\n"},
        {"bin/golint": GO_TOOL},
        {"sizes.egg-info/PKG-INFO": "Name: sizes\n", "sizes.egg-info/SOURCES.txt": "src/sizes/__init__.py\n"},
        {"src/sizes/_version.py": "version = '1.0'\n", "src/schema_pb2.py": "# made by a compiler\n"},
        {"generated/client/index.js": "x", "public/jquery.js": "x", ".pnp.cjs": '"packageLocation": "./packages/a/"'},
        {"deps/installed": "from setup\n", "package-lock.json": "{}\n", ".env": "A=1\n"},
    ],
)  # fmt: skip
def test_honest_products_are_not(tmp_path: Path, made: Mapping[str, Content]) -> None:
    base = {**BASE, "src/sizes/_fast.c": "int kilo(void) { return 1000; }\n"}
    assert found(tmp_path, made, base) == []


@pytest.mark.req("D7")
def test_a_program_of_others_is_no_build_where_nothing_is_compiled(tmp_path: Path) -> None:
    plain = {path: text for path, text in BASE.items() if not path.endswith((".go", "go.mod"))}
    assert found(tmp_path, {"bin/tool": ELF}, plain) == []


@pytest.mark.req("D7")
def test_a_copy_below_home_is_found(tmp_path: Path) -> None:
    assert found(tmp_path, {"copy/src/sizes/__init__.py": CODE}, home=True) == ["$HOME/copy/src/sizes/__init__.py"]


def test_a_folder_of_packages_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    assert not holds_packages(tmp_path / "venv"), "a package may have that name"
    (tmp_path / "venv/pyvenv.cfg").touch()
    assert holds_packages(tmp_path / "venv")
