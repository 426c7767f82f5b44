"""What Damascus can do, and which tests prove it: docs/capabilities.md is made here.

    tools/capabilities            how many are delivered, and what is missing
    tools/capabilities W7 D3      the clauses of these, with every test that names them
    tools/capabilities --write    docs/capabilities.md anew
    tools/capabilities --json     all of it for programs

The sentences stand in docs/capabilities.toml, the proofs in the tests: `@pytest.mark.req("W7")` for the whole,
`@pytest.mark.req("W7.2")` for one clause. Needs the standard library only.
"""

import argparse
import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "capabilities.toml"
PAGE = ROOT / "docs" / "capabilities.md"
ID = re.compile(r"\b([DTWFAX][1-9]\d?)(\.[1-9]\d?)?\b")
WORDS_LIKE_IDS = {"X32", "X86"}
"""Names of processors and of their call conventions."""
FAMILIES = {
    "D": "Stories become pull requests",
    "T": "Transient trouble is not failure",
    "W": "Done means CI proved it",
    "F": "The adversarial build flow",
    "A": "The continuous application builder",
    "X": "Beyond",
}
HEAD = """\
# Capabilities

<!-- made by tools/capabilities --write from docs/capabilities.toml and the tests' markers: change those -->

What Damascus does or is to do, clause by clause. Code and tests name these ids; a test names what it proves with
`@pytest.mark.req("D7")`, or one clause with `@pytest.mark.req("D7.1")`. `tools/capabilities D7` lists the tests by
name. Whatever is not built yet says so.
"""


@dataclass
class Capability:
    """One id. `proofs` are `tests/…py::test_…`, by the id or clause that a marker names."""

    id: str
    says: list[str]
    missing: dict[str, str] = field(default_factory=dict)
    proofs: dict[str, list[str]] = field(default_factory=dict)

    @property
    def begun(self) -> bool:
        return "all" not in self.missing

    @property
    def delivered(self) -> bool:
        return not self.missing

    def tests(self) -> list[str]:
        return sorted({test for tests in self.proofs.values() for test in tests})

    def files(self) -> list[str]:
        return sorted({test.partition("::")[0] for test in self.tests()})


def capabilities() -> dict[str, Capability]:
    told = tomllib.loads(DATA.read_text())
    found = {name: Capability(name, parts["says"], parts.get("missing", {})) for name, parts in told.items()}
    for test, named in markers():
        if (one := found.get(named.partition(".")[0])) is not None:
            one.proofs.setdefault(named, []).append(test)
    return found


def markers() -> Iterator[tuple[str, str]]:
    """Every test with every id that it names."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for test, names in marked(path.read_text()).items():
            yield from ((f"{path.relative_to(ROOT).as_posix()}::{test}", name) for name in names)


def marked(source: str) -> dict[str, list[str]]:
    """The tests of a source with the ids that markers on them, on their class or on the module name."""
    tree = ast.parse(source)
    found: dict[str, list[str]] = {}
    for test, name in _within("", tree.body, _of_module(tree)):
        found.setdefault(test, []).append(name)
    return found


def _within(place: str, body: list[ast.stmt], around: list[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _within(f"{place}{node.name}::", node.body, [*around, *_named(node.decorator_list)])
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for name in dict.fromkeys([*around, *_named(node.decorator_list)]):
                yield f"{place}{node.name}", name


def _of_module(tree: ast.Module) -> list[str]:
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    marks = [node.value for node in assigned if any(getattr(to, "id", "") == "pytestmark" for to in node.targets)]
    return _named(marks)


def _named(nodes: list[ast.expr]) -> list[str]:
    """The ids of each `….req("…")` in these expressions."""
    calls = [part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Call)]
    args = [arg for call in calls if getattr(call.func, "attr", "") == "req" for arg in call.args]
    return [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def named_anywhere() -> dict[str, set[str]]:
    """Every id in sources, tests, tools and documents, with the files that name it."""
    found: dict[str, set[str]] = {}
    folders = [ROOT / name for name in ("src", "tests", "docs", "bench", "tools", "examples")]
    paths = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    for path in paths:
        if path.suffix in (".py", ".sql", ".md") and path not in (PAGE, Path(__file__).resolve()):
            for match in ID.finditer(path.read_text(errors="replace")):
                if match[1] not in WORDS_LIKE_IDS:
                    found.setdefault(match[0], set()).add(path.relative_to(ROOT).as_posix())
    return found


# ── the page ──────────────────────────────────────────────────────────────────────────────────────────


def page(every: dict[str, Capability]) -> str:
    lines = [HEAD, sentence(every)]
    for letter, title in FAMILIES.items():
        lines += ["", f"## {letter} · {title}"]
        for one in every.values():
            if one.id.startswith(letter):
                lines += ["", *section(one)]
    return "\n".join(lines) + "\n"


def sentence(every: dict[str, Capability]) -> str:
    whole = sum(one.delivered for one in every.values())
    parts = sum(one.begun and not one.delivered for one in every.values())
    return f"{len(every)} capabilities: {whole} whole, {parts} in part, {len(every) - whole - parts} not begun."


def section(one: Capability) -> list[str]:
    files = one.files()
    return [*clauses(one), *(["", f"Tests: {', '.join(f'`{file}`' for file in files)}."] if files else [])]


def clauses(one: Capability) -> list[str]:
    lines = [f"### {one.id}", ""]
    for number, clause in enumerate(one.says, 1):
        lines.append(f"{number}. **{one.id}.{number}** {clause}")
        if why := one.missing.get(str(number)):
            lines.append(f"   *Not yet: {why}*")
        if tests := one.proofs.get(f"{one.id}.{number}"):
            lines.append(f"   Proved by {', '.join(f'`{test}`' for test in sorted(tests))}.")
    if whole := one.missing.get("all"):
        lines += ["", f"*Not yet. Today: {whole}*"]
    return lines


def told(one: Capability) -> str:
    """For a terminal, with every test by name and what its marker says."""
    lines = clauses(one)
    for test in one.tests():
        named = sorted(name for name, tests in one.proofs.items() if test in tests)
        lines.append(f"  {test}  ({', '.join(named)})")
    return "\n".join(lines)


def lacking(every: dict[str, Capability]) -> list[str]:
    return [
        f"{one.id if number == 'all' else f'{one.id}.{number}'}  {why}"
        for one in every.values()
        for number, why in one.missing.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/capabilities", description="What is promised, and what proves it.")
    parser.add_argument("ids", nargs="*", metavar="ID", help="the clauses and tests of these")
    parser.add_argument("--write", action="store_true", help="make docs/capabilities.md anew")
    parser.add_argument("--json", action="store_true", help="for programs")
    given = parser.parse_args()
    every = capabilities()
    if unknown := [name for name in given.ids if name not in every]:
        parser.error(f"there is no capability {', '.join(unknown)}")
    if given.write:
        PAGE.write_text(page(every))
    if given.json:
        print(json.dumps([asdict(one) for one in every.values() if not given.ids or one.id in given.ids], indent=2))
    elif given.ids:
        print("\n\n".join(told(every[name]) for name in given.ids))
    else:
        print("\n".join([sentence(every), *lacking(every)]))


if __name__ == "__main__":
    main()
