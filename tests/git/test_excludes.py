"""Our reading of .gitignore is git's."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damascus.git.commands import Git
from damascus.git.excludes import BUILT_IN, rules_from
from damascus.git.trees import parents

LINES = [
    "*.log", "!keep.log", "/top", "dir/", "a/b", "a/*/c", "**/deep", "a/**", "a/**/z", "**", "*", "?", "[ab]", "[!a]",
    "[a-c]x", "[[:digit:]]*", "\\#hash", "#comment", "\\!bang", "trail ", "trail\\ ", "", "/", "//", "!", "b/**/",
    "**/", "a**b", "x[", "[]a]", "[]-a]", "[a-]", "\\*", "foo/**/bar/*.py", "*/", "!*/", "!/a/", ".*", "a//b", "[^a]",
    "[a/b]x", "[\\]]", "***", "a/***", "/**/c", "crlf\r", "é", "\\", "a\\", "{a,b}", "!a/b", "[[:foo:]]", "b*/", "/*",
    "!/b",
]  # fmt: skip
PARTS = ["a", "b", "c", "z", "deep", "dir", "keep.log", "x.log", "#hash", "!bang", "trail", "trail ", "top", "1", "ax",
         "*", "]", "-", "foo", "bar", "m.py", ".hid", "a-b", "azb", "crlf", "é", "\\", "{a,b}", "a b"]  # fmt: skip


def _git_ignores(git: Git, folder: Path, paths: list[str]) -> set[str]:
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    result = git.run("check-ignore", "--no-index", "-z", "--stdin", data=data, work_tree=folder, check=False)
    return {os.fsdecode(path) for path in result.raw.split(b"\0") if path}


def _we_ignore(files: dict[str, bytes], path: str) -> bool:
    rules = rules_from(files)
    return any(rules.ignore(folder, folder=True) for folder in parents(path)) or rules.ignore(path, folder=False)


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    git = Git.at(tmp_path_factory.mktemp("ignore"))
    git.run("init", "-q", "--bare")
    (git.git_dir / "info").mkdir(exist_ok=True)
    (git.git_dir / "info" / "exclude").write_text("\n".join(BUILT_IN) + "\n")
    return git


ANY_LINE = st.sampled_from(LINES) | st.text("ab/*?[]!\\-^ ", max_size=7)


@given(
    root=st.lists(ANY_LINE, max_size=5),
    nested=st.lists(ANY_LINE, max_size=3),
    paths=st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join), min_size=1, max_size=12),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_paths_as_git(git: Git, root: list[str], nested: list[str], paths: list[str]) -> None:
    folder = git.git_dir / "work"
    files = {".gitignore": "\n".join(root).encode(), "a/.gitignore": "\n".join(nested).encode()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    asked = sorted({path for path in paths if path != "a"})
    assert {path for path in asked if _we_ignore(files, path)} == _git_ignores(git, folder, asked)


def test_a_byte_order_mark_and_non_utf8_lines_do_no_harm() -> None:
    files = {".gitignore": b"\xef\xbb\xbf*.log\n\xff\n"}
    assert _we_ignore(files, "a.log")
    assert _we_ignore(files, "\udcff")
    assert not _we_ignore(files, "a")


@pytest.mark.parametrize(
    "path", ["x/__pycache__/y", "a.pyc", "node_modules/m/i.js", ".venv/x", "a/.DS_Store", ".coverage"]
)
def test_what_no_project_wants_is_ignored_unless_the_base_says_otherwise(path: str) -> None:
    assert _we_ignore({}, path)
    assert not _we_ignore({".gitignore": b"!*\n"}, path)
