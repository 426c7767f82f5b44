"""Paths in prose: what a task's words name as files and folders."""

import re

from damascus import stacks

BACKTICKED = re.compile(r"`([^`\n]{1,300})`")
PATH = re.compile(r"[\w@.\[\]()+-]+(?:/[\w@.\[\]()+*-]+)*/?")
LAST = re.compile(r".*\.[A-Za-z][A-Za-z0-9]{0,9}")
AROUND = "\"'“”‘’,;:!?<>"
ROOTS = {
    "src", "lib", "app", "apps", "tests", "test", "spec", "packages", "pkg", "cmd", "internal", "backend", "frontend",
    "server", "client", "api", "web", "ui", "docs", "scripts", "config", "public", "migrations", "components", "pages",
}  # fmt: skip
MOST = 200


def paths_in(text: str) -> list[str]:
    """Each once, in order: what has a slash and ends like a file or a folder, and what is marked as code and does."""
    marked = [_path(word, code=True) for word in BACKTICKED.findall(text)]
    plain = [_path(word, code=False) for word in BACKTICKED.sub(" ", text).split()]
    return list(dict.fromkeys(path for path in (*marked, *plain) if path))[:MOST]


def _path(word: str, *, code: bool) -> str:
    told = word.strip(AROUND).rstrip(".").strip(AROUND)
    told = told[1:-1] if told.startswith("(") and told.endswith(")") else told.rstrip(")") if "(" not in told else told
    told = told.lstrip("(") if ")" not in told else told
    if "://" in told or len(told) > 300 or not PATH.fullmatch(told):
        return ""
    if LAST.fullmatch(told.rstrip("/")) and (code or "/" in told):
        return told
    folder = "/" in told and (told.endswith("/") or code or told.split("/", 1)[0] in ROOTS)
    return told if folder else ""


def tests_of(scope: tuple[str, ...], patterns: tuple[str, ...] = ()) -> list[str]:
    """The files of tests among them."""
    return [path for path in scope if not path.endswith("/") and "*" not in path and stacks.is_test(path, patterns)]
