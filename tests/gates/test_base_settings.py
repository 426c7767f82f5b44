"""Which words of main hold for a story that says otherwise: files of settings, and their parts in others."""

import json
import tomllib

import pytest

from damascus.gates.base_settings import settings_of_base
from damascus.git.trees import TreeEntry
from tests.gates.judging import Content, Judging

pytestmark = pytest.mark.req("A6")

PACKAGE = {"scripts": {"lint": "eslint ."}, "dependencies": {"a": "1"}}
BASE = {
    "package.json": json.dumps(PACKAGE),
    "pyproject.toml": "[project]\nname = 'a'\n[tool.ruff]\nline-length = 80\n",
    "setup.cfg": "[metadata]\nname = a\n[flake8]\nignore = E1\n",
    "tsconfig.json": '{"compilerOptions": {"strict": true}}',
    "Cargo.toml": "[package]\nname = 'a'\n[lints.clippy]\nall = 'deny'\n",
    ".eslintrc.json": "{}",
    ".gitignore": "dist/\n",
    "clippy.toml": "a = 1\n",
}
EVERYWHERE = ("./", "sub/", ".*")


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Judging:
    return Judging.of(tmp_path_factory.mktemp("settings"), BASE)


def laid(judging: Judging, files: dict[str, Content], **spec: object) -> dict[str, bytes | None]:
    made = judging.candidate(files, **({"scope": EVERYWHERE} | spec))  # type: ignore[arg-type]
    return dict(settings_of_base(made))


@pytest.mark.parametrize(
    "path",
    [
        "ruff.toml", ".ruff.toml", "sub/ruff.toml", "mypy.ini", ".mypy.ini", ".flake8", "pyrightconfig.json",
        ".pylintrc", ".ignore", "eslint.config.js", "eslint.config.mjs", "sub/.eslintrc", ".eslintrc.yml",
        ".eslintignore", ".prettierrc", ".prettierignore", "prettier.config.js", "biome.json", "biome.jsonc",
        ".stylelintrc.json", ".oxlintrc.json", ".npmrc", ".golangci.yml", ".clippy.toml", ".cargo/config.toml",
        "sub/.gitignore",
    ],
)  # fmt: skip
def test_a_new_file_of_settings_is_not_there(judging: Judging, path: str) -> None:
    assert laid(judging, {path: "x"}) == {path: None}


@pytest.mark.parametrize("now", ["{}", None])
def test_a_file_that_says_nothing_else_is_mains_unless_the_scope_names_it(judging: Judging, now: str | None) -> None:
    changed: dict[str, Content] = {".eslintrc.json": now and '{"rules": {}}', "clippy.toml": now and "a = 2\n"}
    was = {path: BASE[path].encode() for path in changed}
    assert laid(judging, changed) == was
    assert laid(judging, changed, scope=tuple(changed)) == {}
    assert laid(judging, changed, may_change=tuple(changed)) == {}


def test_parts_of_a_file_that_says_more_are_mains_whatever_the_scope_names(judging: Judging) -> None:
    changed: dict[str, Content] = {
        "package.json": json.dumps(PACKAGE | {"scripts": {"lint": "true"}, "version": "2", "eslintIgnore": ["a"]}),
        "pyproject.toml": "tool.ruff.exclude = ['a']\n[project]\nname = 'b'\n[tool.mypy]\nignore_errors = true\n",
        "setup.cfg": "[metadata]\nname = b\n[mypy-a.*]\nignore_errors = true\n",
        "tsconfig.json": '{"compilerOptions": {"strict": false, "jsx": "react"}, "exclude": ["a"]}',
        "Cargo.toml": "[package]\nname = 'b'\n[workspace.lints.clippy]\nall = 'allow'\n",
        ".gitignore": "dist/\na\n",
    }
    found = laid(judging, changed, scope=tuple(changed))
    told = {path: (content or b"").decode() for path, content in found.items()}
    assert set(told) == set(changed)
    assert json.loads(told["package.json"]) == PACKAGE | {"version": "2"}
    assert tomllib.loads(told["pyproject.toml"]) == {"project": {"name": "b"}, "tool": {"ruff": {"line-length": 80}}}
    assert "name = b" in told["setup.cfg"] and "ignore = E1" in told["setup.cfg"] and "mypy" not in told["setup.cfg"]
    assert json.loads(told["tsconfig.json"]) == {"compilerOptions": {"strict": True, "jsx": "react"}}
    assert tomllib.loads(told["Cargo.toml"]) == {
        "package": {"name": "b"},
        "lints": {"clippy": {"all": "deny"}},
        "workspace": {},
    }
    assert told[".gitignore"] == BASE[".gitignore"]
    assert laid(judging, changed, may_change=tuple(changed)) == {}


def test_other_parts_may_change(judging: Judging) -> None:
    changed: dict[str, Content] = {
        "package.json": json.dumps(PACKAGE | {"dependencies": {"b": "2"}}),
        "pyproject.toml": BASE["pyproject.toml"].replace("'a'", "'b'"),
        "tsconfig.json": '{"compilerOptions": {"strict": true, "jsx": "react"}}',
        "Cargo.toml": BASE["Cargo.toml"] + "[dependencies]\n",
        "a.py": "",
    }
    assert laid(judging, changed) == {}


def test_a_new_package_has_its_scripts_and_none_of_the_linters_settings(judging: Judging) -> None:
    own = {"name": "new", "scripts": {"lint": "eslint ."}}
    assert laid(judging, {"sub/package.json": json.dumps(own)}) == {}
    found = laid(judging, {"sub/package.json": json.dumps(own | {"eslintConfig": {"root": True}})})
    assert json.loads(found["sub/package.json"] or b"") == own


@pytest.mark.parametrize(("path", "text"), [("package.json", "{"), ("pyproject.toml", "["), ("setup.cfg", "x\n")])
def test_what_can_not_be_told_apart_is_mains_whole(judging: Judging, path: str, text: str) -> None:
    assert laid(judging, {path: text}) == {path: BASE[path].encode()}
    assert laid(judging, {f"sub/{path}": text}) == {f"sub/{path}": None}
    assert laid(judging, {path: None}) == {path: BASE[path].encode()}


def test_a_link_is_no_way_around(judging: Judging) -> None:
    entry = TreeEntry("120000", judging.mirror.write_blob(b"ruff2.toml"))
    assert laid(judging, {"ruff.toml": entry, "pyproject.toml": entry}) == {
        "ruff.toml": None,
        "pyproject.toml": BASE["pyproject.toml"].encode(),
    }
