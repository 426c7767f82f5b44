"""Names that are special somewhere, compared with git's own strict check."""

import os
import subprocess
from pathlib import Path

import pytest

from damascus.domain.names import fold, folding_together, gits_file, is_git, special
from damascus.git.strict import needs_look

DISGUISES = (
    ".git", ".GIT", ".Git", "git~1", "GIT~1", ".git.", ".git ", ".git . .", ".git::$INDEX_ALLOCATION", ".git:x",
    ".g\u200cit", "\ufeff.git", ".gi\u202et", "a\\.git", ".git\\x",
)  # fmt: skip
PLAIN = (".gitkeep", ".github", "git", "git~2", "a.git", ".gitx", "legit", "digit~1", ".g\u00efit", "x.git.txt")
HONEST = (
    "src/[id]/page.tsx", "docs/a b.md", "src/naïve.py", "日本語/テスト.py", "a..b", ".gitignore", ".gitattributes",
    "a:b.txt", "-x", "#a#", "~tmp", "a'b", "aux.py", "x" * 200,
)  # fmt: skip


def strict_says(folder: Path, name: str) -> str:
    """What `git fsck --strict` finds in a tree that holds one file of this name."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*args: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["git", *args], cwd=folder, env=env, input=data, capture_output=True)

    git("init", "-q")
    blob = git("hash-object", "-w", "--stdin").stdout.strip()
    raw = b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob.decode())
    tree = git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=raw).stdout.decode().strip()
    return git("fsck", "--strict", "--no-dangling", tree).stderr.decode()


@pytest.mark.req("D6")
@pytest.mark.parametrize("name", DISGUISES, ids=ascii)
def test_git_in_disguise_is_known_as_git_knows_it(tmp_path: Path, name: str) -> None:
    assert is_git(name) and special(f"a/{name}/b")
    assert "\\" in name or "hasDotgit" in strict_says(tmp_path, name)


@pytest.mark.req("D6")
@pytest.mark.parametrize("name", PLAIN, ids=ascii)
def test_what_only_looks_like_git_is_left_alone_as_git_does(tmp_path: Path, name: str) -> None:
    assert not is_git(name) and special(name) == ""
    assert "hasDotgit" not in strict_says(tmp_path, name)


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("name", "file"),
    [
        (".GITMODULES", ".gitmodules"), ("gitmod~1", ".gitmodules"), ("GITMOD~4", ".gitmodules"),
        ("gi7eba~1", ".gitmodules"),
        ("GI7EBA~12", ".gitmodules"), (".gitmod\u200cules", ".gitmodules"), (".gitmodules ", ".gitmodules"),
        (".GitAttributes", ".gitattributes"), ("gitatt~1", ".gitattributes"), (".gitignore.", ".gitignore"),
        (".MailMap", ".mailmap"),
    ],
)  # fmt: skip
def test_gits_own_files_in_disguise(name: str, file: str) -> None:
    assert gits_file(name) == file
    assert special(f"sub/{name}") == f"{file} in disguise"


@pytest.mark.req("D6")
@pytest.mark.parametrize("name", ["a\\b", "a\x01b", "a\nb", "a\x7f", "dir./x", "x ", "y.", "a /b"], ids=ascii)
def test_what_another_system_takes_for_something_else(name: str) -> None:
    assert special(name)


@pytest.mark.req("D6")
@pytest.mark.parametrize("name", HONEST, ids=ascii)
def test_unusual_names_that_are_just_names(name: str) -> None:
    assert special(name) == ""


@pytest.mark.req("D6")
def test_names_that_fold_to_one() -> None:
    assert fold("Straße") == fold("STRASSE") and fold("e\u0301") == fold("\u00e9")
    there = ["src/a.py", "Src/b.py", "docs/x.md"]
    assert folding_together(["Src/b.py"], there) == {"Src": "src"}
    assert folding_together(["docs/x.md"], there) == {}
    assert folding_together(["docs/X.md"], [*there, "docs/X.md"]) == {"docs/X.md": "docs/x.md"}


def test_only_plain_names_of_plain_files_need_no_look() -> None:
    assert not needs_look("src/a_b-c.py", "100644") and not needs_look("run", "100755")
    assert needs_look("a", "120000") and needs_look(".gitmodules", "100644") and needs_look("naïve.py", "100644")
    assert needs_look("a/.gitx/b", "100644") and needs_look("src/.x", "100644")
