"""A settings file with the base's word in the parts that checks read, and its own in all others."""

import json
import tomllib

import pytest

from damascus.stacks.settings_parts import UnreadableSettings, with_parts_of

pytestmark = pytest.mark.req("A6")


def made(name: str, base: str | None, now: str, *keys: str) -> str | None:
    found = with_parts_of(name, base.encode() if base is not None else None, now.encode(), keys)
    return None if found is None else found.decode()


def test_a_file_that_says_the_same_is_left_alone() -> None:
    assert (
        made("package.json", '{"scripts": {"lint": "a"}}', '{"scripts":{"lint":"a"},"version":"2"}', "scripts") is None
    )
    assert made("pyproject.toml", None, "[project]\nname = 'a'\n", "tool.ruff") is None
    assert made("setup.cfg", "[mypy]\na = 1\n", "[metadata]\nname = x\n[mypy]\na = 1\n", "mypy*") is None


def test_json_keeps_the_rest() -> None:
    now = '{"scripts": {"lint": "true"}, "dependencies": {"b": "1"}, "eslintConfig": {"rules": {}}}'
    told = made("package.json", '{"scripts": {"lint": "eslint ."}}', now, "scripts", "eslintConfig")
    assert told and json.loads(told) == {"scripts": {"lint": "eslint ."}, "dependencies": {"b": "1"}}


def test_json_with_comments_and_last_commas() -> None:
    base = '{"compilerOptions": {"strict": true, /* as we like it */ "target": "es2020",},}'
    now = '{ // "strict": true\n"compilerOptions": {"strict": false, "jsx": "react", "paths": {"a//b": ["c,]"]}},\n}'
    told = made("tsconfig.json", base, now, "compilerOptions.strict", "exclude")
    assert told and json.loads(told) == {
        "compilerOptions": {"strict": True, "jsx": "react", "paths": {"a//b": ["c,]"]}}
    }


def test_toml_of_every_kind_is_written_as_it_was() -> None:
    base = "[tool.ruff.lint]\nselect = ['F']\n"
    now = (
        '[project]\nname = "a\\u0000 \\"b\\" \\u007f é"\nat = 2026-01-02T03:04:05Z\nday = 2026-01-02\nhour = 07:32:00\n'
        "'odd key' = {x = [1, 2.5, true, {y = 'z'}]}\n[[rows]]\na = 1\n[[rows]]\na = -2\n"
        "[tool.ruff]\nexclude = ['*']\n[tool.other]\nkept = '''\nmany\nlines'''\n"
    )
    told = made("pyproject.toml", base, now, "tool.ruff", "tool.mypy")
    wanted = tomllib.loads(now)
    wanted["tool"]["ruff"] = {"lint": {"select": ["F"]}}
    assert told and tomllib.loads(told) == wanted


def test_a_long_list_of_dependencies_is_kept() -> None:
    needs = [f"package-{n}>=1.2.3,<2.0.0" for n in range(300)]
    told = made("pyproject.toml", None, f"[project]\ndependencies = {needs}\n[tool.ruff]\n", "tool.ruff")
    assert told and tomllib.loads(told) == {"project": {"dependencies": needs}, "tool": {}}


LONG = ".".join("a" * 101)


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1\n",
        f"[{LONG}]\n",
        f"x = 'a'\n{LONG.replace('.', ' . ')} = 1\n",
        ".".join(["'a'", '"a"'] * 51) + " = 1\n",
        f'x = {{ y = """\n\'""", {LONG} = 1, z = \'\' }}\n',
        f'x = {{ y = """a"""", {LONG} = 1 }}\n',
        f"x = {{ y = '''a'''', {LONG} = 1 }}\n",
        f'x = {{ y = "\\"", {LONG} = "" }}\n',
        f"x = 1 # '\n{LONG} = ''\n",
    ],
)
def test_a_key_of_very_many_parts_is_not_read(text: str) -> None:
    assert tomllib.loads(text)
    with pytest.raises(UnreadableSettings):
        made("pyproject.toml", None, text, "tool.ruff")


@pytest.mark.parametrize(
    "value",
    [
        str([1.5] * 200),
        f'"{"1.2.3.4." * 100}"',
        f"'''{'b.c ' * 300}\n'''",
        f'"""{"b.c " * 300}\n"""',
        f"1 # {'. ' * 300}",
        str([f"{n}.{n}" for n in range(200)]),
    ],
)
def test_points_in_values_are_no_parts_of_a_key(value: str) -> None:
    assert made("pyproject.toml", None, f"[tool.ruff]\nx = {value}\n", "tool.mypy") is None


def test_ini_by_section_and_its_defaults() -> None:
    now = (
        "[DEFAULT]\nexclude = src\n[metadata]\nname = x\n[flake8]\nignore = E,\n  F\n[mypy-a.*]\nignore_errors = true\n"
    )
    told = made("setup.cfg", "[flake8]\nignore = E\n", now, "flake8*", "mypy*")
    assert told is not None
    assert made("setup.cfg", "[flake8]\nignore = E\n", told, "flake8*", "mypy*") is None
    assert "DEFAULT" not in told and "mypy-a" not in told and "name = x" in told


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("package.json", "{"),
        ("package.json", "[]"),
        ("package.json", "[" * 100_000),
        ("pyproject.toml", "[tool.ruff"),
        ("pyproject.toml", "x = nan\n[tool.ruff]\n"),
        ("pyproject.toml", "\udcff".encode("utf-8", "surrogatepass").decode("latin-1")),
        ("setup.cfg", "no section\n"),
    ],
)
def test_what_can_not_be_told_apart_is_said(name: str, now: str) -> None:
    with pytest.raises(UnreadableSettings):
        made(name, "", now, "tool.ruff", "scripts", "flake8*")


def test_a_key_above_that_is_no_table_gives_way() -> None:
    told = made("pyproject.toml", "[tool.ruff]\na = 1\n", "tool = 3\n", "tool.ruff")
    assert told and tomllib.loads(told) == {"tool": {"ruff": {"a": 1}}}
