"""Statements of a source, and reports of what ran: by rules of ours, whatever a report says."""

import json
from pathlib import Path

import pytest

from damascus.git.added_lines import added_lines
from damascus.stacks.coverage import Statement, ranges, statements_in
from damascus.stacks.go.coverage import GoProbe
from damascus.stacks.lcov import below_root, lines_in_lcov
from damascus.stacks.node.coverage import NodeProbe
from damascus.stacks.rust.coverage import RustProbe

PYTHON = '''\
"""Doc."""
from typing import TYPE_CHECKING, Protocol, overload
import abc

if TYPE_CHECKING:
    import os


class Shape(Protocol):
    def area(self) -> int:
        return 1


@overload
def f(a: int) -> int: ...
def f(
    a,
    b=2,
):
    """Doc."""
    global G
    x: int
    if a:  # pragma: no cover
        G = (
            1
        )
    elif b:
        pass
    else:
        return 3
    for _ in a:
        continue
    try:
        return 4
    finally:
        print()
'''


@pytest.mark.req("A16")
def test_the_statements_of_python() -> None:
    found = [(one.line, one.last) for one in statements_in(PYTHON.encode(), "a.py")]
    assert found == [
        (2, 2), (3, 3), (5, 5), (9, 9), (14, 15), (16, 19), (23, 23), (24, 26), (27, 27), (30, 30), (31, 31), (33, 33),
        (34, 34), (36, 36),
    ]  # fmt: skip


@pytest.mark.req("A16")
def test_the_statements_of_typescript_go_and_rust() -> None:
    ts = "import a from 'a';\n'use strict';\ninterface B {}\nlet c;\nexport const f = (a: number) => a;\n"
    ts += "function g() {\n  return 1;\n}\n"
    assert [one.line for one in statements_in(ts.encode(), "a.ts")] == [5, 7]
    go = "package m\n\nconst A = 1\n\nfunc f(a int) int {\n\t//go:noinline\n\tvar b int\n\tif a > 1 {\n\t\tb = 2\n\t}\n"
    go += "\treturn b\n}\n"
    assert [one.line for one in statements_in(go.encode(), "a.go")] == [8, 9, 11]
    rust = "#[coverage(off)]\nfn f(a: i32) -> i32 {\n    match a {\n        1 => 2,\n        _ => a,\n    }\n}\n"
    rust += "#[cfg(test)]\nmod t {\n    fn g() { f(1); }\n}\n"
    assert [one.line for one in statements_in(rust.encode(), "a.rs")] == [3, 4, 5]


@pytest.mark.parametrize("name", ["a.py", "a.js", "a.go", "a.rs"])
def test_what_is_nested_too_deeply_or_is_no_source_is_read_or_refused(name: str) -> None:
    for source in (b"(" * 3_000, b"\xff\xfe\0", b"{" * 3_000 + b"}" * 3_000, b"a" * 2_000_000):
        try:
            assert isinstance(statements_in(source, name), list)
        except ValueError:
            continue


def test_lines_are_told_in_runs() -> None:
    assert ranges([3, 5, 4, 9, 3]) == "3-5, 9" and ranges([]) == ""
    assert list(Statement(2, 4).lines) == [2, 3, 4]


PATCH = b"""\
diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -1 +1,2 @@
-a
\\ No newline at end of file
++++ b/forged.py
+b
\\ No newline at end of file
@@ -9,2 +11,0 @@
-c
-d
diff --git "a/\\303\\244 .py" "b/\\303\\244 .py"
--- "a/\\303\\244 .py"
+++ "b/\\303\\244 .py"
@@ -0,0 +5 @@
+x
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""


def test_the_added_lines_of_a_patch() -> None:
    assert added_lines(PATCH) == {"x.py": {1, 2}, "ä .py": {5}}


LCOV = (
    "TN:\nSF:/r/a.rs\nFN:1,f\nFNDA:0,f\nDA:1,1\nDA:2,0\nDA:3,x\nDA:99999999999,1\nend_of_record\n"
    "SF:../etc/passwd\nDA:1,1\nend_of_record\nSF:b.rs\nDA:1,1\n"
)


def test_lcov_is_read_and_junk_is_skipped() -> None:
    found = lines_in_lcov(LCOV, below_root("/r"))
    assert {path: (one.ran, one.uncalled) for path, one in found.items()} == {"a.rs": ({1}, {1})}


V8 = {
    "result": [
        {"url": "file:///r/a.js", "functions": [
            {"ranges": [{"startOffset": 0, "endOffset": 75, "count": 1}]},
            {"ranges": [{"startOffset": 10, "endOffset": 20, "count": 0}]},
            {"ranges": [{"startOffset": 21, "endOffset": 70, "count": 2},
                        {"startOffset": 44, "endOffset": 60, "count": 0}]},
        ]},
        {"url": "file:///r/node_modules/a.js", "functions": []},
        {"url": "file:///elsewhere/a.js", "functions": []},
        {"url": "file:///r/b.js", "functions": [{"ranges": [{"startOffset": "x"}, 7]}, 3]},
        7,
    ]
}  # fmt: skip
SCRIPT = "const f = a => a + 1\nfunction g(b) {\n  if (b) {\n    return 1;\n  }\n  return 2;\n}\n"


def test_v8_counts_by_lines_and_junk_is_skipped(tmp_path: Path) -> None:
    probe = NodeProbe()
    probe.begin(tmp_path, "/r", {})
    (tmp_path / "v8" / "1.json").write_text(json.dumps(V8))
    (tmp_path / "v8" / "2.json").write_text("[" * 100_000)
    (tmp_path / "v8" / "3.json").symlink_to("/dev/zero")
    probe.end(tmp_path)
    ran = probe.ran(lambda path: SCRIPT.encode())
    assert set(ran["a.js"]) == {2, 3, 5, 6} and not set(ran["b.js"])
    assert probe.why_not == "" and set(ran) == {"a.js", "b.js"}


@pytest.mark.parametrize("probe", [GoProbe, NodeProbe, RustProbe])
def test_a_folder_without_a_report_tells_why(probe: "type[GoProbe | NodeProbe | RustProbe]", tmp_path: Path) -> None:
    made = probe()
    made.begin(tmp_path, "/r", {})
    made.end(tmp_path)
    assert made.why_not and made.ran(lambda path: None) == {}


def test_profiles_of_go_are_read_and_junk_is_skipped(tmp_path: Path) -> None:
    probe = GoProbe()
    text = (
        "#module m.org/x sub\nmode: count\nm.org/x/a.go:1.2,3.4 1 0\nm.org/x/a.go:3.2,4.4 1 7\nother/b.go:1.1,2.2 1 1\n"
    )
    (tmp_path / "1.out").write_text(text + "m.org/x/a.go:1.1,9999999.1 1 1\nm.org/x/a.go:9.1,8.1 1 1\njunk\n")
    (tmp_path / "2.out").symlink_to("/dev/zero")
    probe.end(tmp_path)
    assert probe.ran(lambda path: None) == {"sub/a.go": {3: {""}, 4: {""}}}
