"""Scopes: what is refused, what is allowed, and that the ranges never miss an overlap."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from damascus.domain.errors import UsageError
from damascus.domain.scope import Scope, Span, parse_scope

NAMES = st.text("ab.é\U0001f600-", min_size=1, max_size=3).filter(lambda n: n not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@st.composite
def scope_of(draw: st.DrawFn, path: str) -> Scope:
    """A scope that allows `path`: the path, a folder above it or a glob made of it, and something else beside."""
    parts = path.split("/")
    above = ["/".join(parts[:n]) + "/" for n in range(1, len(parts))]
    cut = draw(st.integers(0, len(path)))
    globs = [path[:cut] + "**", "/".join(["*"] * len(parts)), "**/" + parts[-1], path[:-1] + "?"]
    pattern = draw(st.sampled_from([path, *above, *globs, path[:-1] + "{z," + path[-1] + "}"]))
    other = draw(st.lists(PATHS, max_size=2))
    return Scope((pattern, *other))


@pytest.mark.req("D17")
@settings(max_examples=150, deadline=None)
@given(data=st.data(), path=PATHS)
def test_two_scopes_that_allow_one_path_always_overlap(data: st.DataObject, path: str) -> None:
    one, other = data.draw(scope_of(path)), data.draw(scope_of(path))
    assert one.allows(path) and other.allows(path)
    assert one.overlaps(other) and other.overlaps(one)


@pytest.mark.req("D17")
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_spans_of_a_scope_are_merged_and_cover_every_pattern(data: st.DataObject) -> None:
    paths = data.draw(st.lists(PATHS, min_size=1, max_size=5))
    scope = Scope(tuple(p for path in paths for p in data.draw(scope_of(path)).patterns))
    spans = scope.spans("1/2")
    assert not [(a, b) for i, a in enumerate(spans) for b in spans[i + 1 :] if a.overlaps(b)]
    for path in paths:
        assert any(span.overlaps(Span(f"1/2:{path}")) for span in spans)


@given(PATHS, PATHS)
@example("a", "ab")
def test_other_projects_never_overlap(one: str, other: str) -> None:
    mine, theirs = Scope((one, "**")).spans("1/2"), Scope((other, "**")).spans("1/22")
    assert not any(a.overlaps(b) for a in mine for b in theirs)


@pytest.mark.parametrize(
    ("pattern", "allowed", "refused"),
    [
        ("src/io/", ["src/io/a.py", "src/io/deep/b.py"], ["src/io", "src/iox.py", "src/a.py"]),
        ("src/io", ["src/io"], ["src/io/a.py"]),
        ("src/*.py", ["src/a.py"], ["src/deep/a.py", "src/a.pyc"]),
        ("src/**", ["src/a.py", "src/deep/a.py"], ["srcs/a.py"]),
        ("src/**/t.py", ["src/t.py", "src/a/b/t.py"], ["src/at.py"]),
        ("src/?.py", ["src/a.py"], ["src/ab.py", "src//.py"]),
        ("src/[ab].py", ["src/a.py"], ["src/c.py"]),
        ("src/[!ab].py", ["src/c.py"], ["src/a.py", "src//.py"]),
        ("src/{a,b*}.py", ["src/a.py", "src/b.py", "src/bcd.py"], ["src/c.py", "src/b*x"]),
        ("src/*/", ["src/a/b", "src/a/b/c"], ["src/a"]),
        ("src/**", ["src/a\nb.py"], []),
        ("src/a[1.py", ["src/a[1.py"], ["src/a1.py"]),
        ("src/[^a].py", ["src/b.py"], ["src/a.py"]),
        ("src/[]a].py", ["src/a.py", "src/].py"], ["src/b.py"]),
        ("src/[].py", ["src/[].py"], ["src/a.py"]),
        ("src/[a-c].py", ["src/b.py"], ["src/d.py"]),
    ],
)
def test_what_a_pattern_allows(pattern: str, allowed: list[str], refused: list[str]) -> None:
    scope = parse_scope([pattern])
    assert [path for path in allowed if not scope.allows(path)] == []
    assert [path for path in refused if scope.allows(path)] == []


BAD = {
    "": "whole repository",
    " ": "whole repository",
    ".": "whole repository",
    "./": "whole repository",
    "/": "whole repository",
    "//": "whole repository",
    "/etc/passwd": "not relative",
    "~/x": "not relative",
    "C:/x": "not relative",
    "a\\b": "not relative",
    "..": "'..'",
    "../x": "'..'",
    "src/../x": "'..'",
    "src/./x": "'.'",
    "src/..": "'..'",
    ".git": ".git",
    ".git/": ".git",
    ".GIT/hooks/": ".git",
    "sub/.git/config": ".git",
    "git~1/x": ".git",
    ".git*/hooks/x": ".git",
    ".gi?/hooks/x": ".git",
    "damascus.toml": "damascus.toml",
    "*": "damascus.toml",
    "**": "damascus.toml",
    "*.toml": "damascus.toml",
    "d*": "damascus.toml",
    "{damascus,a}.toml": "damascus.toml",
    ".ci/": ".ci/run",
    ".ci/run": ".ci/run",
    ".github/": ".github/",
    ".github/workflows/release.yml": ".github/",
    ".github": ".github/",
    ".git?ub/workflows/release.yml": ".github/",
    ".gitea/workflows/": ".gitea/",
    ".gitlab-ci.yml": ".gitlab-ci.yml",
    "Jenkinsfile": "Jenkinsfile",
    "a\nb": "control character",
    "a\x00b": "control character",
    "a\x7fb": "control character",
    "src/\U0010ffff": "can't be used",
    "src/\ud800": "can't be used",
    "src/[z-a].py": "not a glob",
}


@pytest.mark.req("D6", "D17")
@pytest.mark.parametrize("pattern", BAD, ids=repr)
def test_a_bad_pattern_is_refused_in_one_sentence(pattern: str) -> None:
    with pytest.raises(UsageError, match=re.escape(BAD[pattern])) as caught:
        parse_scope([pattern])
    assert "docs/spec.md" in str(caught.value) and "\n" not in str(caught.value)


def test_an_empty_scope_and_the_spec_itself_are_refused() -> None:
    with pytest.raises(UsageError, match="scope is empty"):
        parse_scope([])
    with pytest.raises(UsageError, match=re.escape("specs/S-1.md")):
        parse_scope(["specs/"], protected=("specs/S-1.md",))


@settings(max_examples=250, deadline=None)
@given(st.text("ab/.*?[]{}!^-,\\&|~#é\n", max_size=12))
@example("[]")
@example("[z-a]")
@example("{a,[}")
@example("[a&&b]")
@example("[[a]")
def test_any_text_is_a_scope_or_a_usage_error(text: str) -> None:
    """No pattern makes the parser, or the comparison with a path later, fall over."""
    try:
        scope = parse_scope([text])
    except UsageError:
        return
    scope.allows("a/b")
    assert scope.spans("1/1")


def test_a_name_is_only_what_is_written() -> None:
    scope = parse_scope(["src/", "a.py", "a.py"])
    assert scope.patterns == ("src/", "a.py")
    assert scope.names("a.py") and not scope.names("src/b.py")


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/[id]/", "app/[id]/deep/x.ts"),
        ("app/[id]/*.tsx", "app/[id]/page.tsx"),
        ("app/[...slug]/", "app/[...slug]/x.ts"),
        ("a]b.txt", "a]b.txt"),
        ("a[b.txt", "a[b.txt"),
        ("x{1}.md", "x{1}.md"),
    ],
)
def test_brackets_may_be_part_of_a_real_name(pattern: str, path: str) -> None:
    scope = parse_scope([pattern])
    assert scope.allows(path)
    assert any(span.overlaps(Span(path)) for span in scope._raw_spans), "the database keeps it apart from others"
    assert not scope.allows("other/" + path)
