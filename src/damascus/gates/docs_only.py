"""A story of kind docs changes words. What code does is proved by the other kinds: here nothing is seen red.

Comments, docstrings and the words inside strings (a help text) may change; folders of documents are theirs.
"""

import ast

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, ChangedFile
from damascus.domain.verdict import Kind
from damascus.evidence.diff_paths import is_test
from damascus.stacks import stack_of
from damascus.stacks.code_text import GO, JAVASCRIPT, RUST, without_comments_and_strings

LANGUAGES = {"node": JAVASCRIPT, "go": GO, "rust": RUST}
FOR_READERS = ("docs", "doc", "documentation", "example", "examples", "site", "website")
MOST = 200_000
"""Bytes of a source that is compared; a larger one counts as changed."""
WHY = "code, which a story of kind docs leaves as it is; make it kind: feature or refactor"
NO_PLAN = "no Markdown, and a plan writes nothing else"


def changed_code(candidate: Candidate) -> dict[str, str]:
    if candidate.spec.kind is Kind.PLAN:
        return {file.path: NO_PLAN for file in candidate.changed if not file.path.endswith(".md")}
    if candidate.spec.kind is not Kind.DOCS:
        return {}
    return {file.path: WHY for file in candidate.changed if _is_code(candidate, file) and _differs(candidate, file)}


def _is_code(candidate: Candidate, file: ChangedFile) -> bool:
    folders = file.path.lower().split("/")[:-1]
    return stack_of(file.path) is not None and not is_test(candidate, file.path) and not set(folders) & set(FOR_READERS)


def _differs(candidate: Candidate, file: ChangedFile) -> bool:
    was, now = (_without_words(candidate, at, file.path) for at in (candidate.base, candidate.commit))
    return was is None or was != now


def _without_words(candidate: Candidate, commit: Sha, path: str) -> str | None:
    """None: it is not there, or can't be read as code."""
    content = candidate.read(commit, path)
    stack = stack_of(path)
    if content is None or stack is None or len(content) > MOST:
        return None
    source = content.decode("utf-8", errors="replace")
    if stack.name in LANGUAGES:
        return " ".join(without_comments_and_strings(source, LANGUAGES[stack.name]).split())
    return _python(source)


def _python(source: str) -> str | None:
    try:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
            elif isinstance(body := getattr(node, "body", None), list):
                node.body = [each for each in body if not _is_words(each)]  # type: ignore[attr-defined]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
