"""Task graphs for tests: a task as text, and an agent that does what its spec asks."""

from collections.abc import Sequence

from tests.yard import NO_PYTEST_CACHE, python

QUICK = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE}"


def task(number: int, needs: Sequence[int] = (), *, kinds: Sequence[str] = ("unit",), **fields: str) -> str:
    """TASK-00n writes t<n>.py; TC-k is tests/test_t<n>_<k>.py."""
    module, ident = f"t{number}", f"TASK-{number:03d}"
    tests = [f"tests/test_{module}_{k}.py" for k in range(1, len(kinds) + 1)]
    rows = [
        f"| TC-{k} | {module} does {k} | {kind} | {test} | {QUICK} {test} |"
        for k, (kind, test) in enumerate(zip(kinds, tests, strict=True), 1)
    ]
    told = {
        "Task type": "feature",
        "depends_on": ", ".join(f"TASK-{need:03d}" for need in needs) or "none",
        "output_files": ", ".join([f"{module}.py", *tests]),
        "Test contract status": "REQUIRED",
    } | {key.replace("_", " "): value for key, value in fields.items()}
    lines = [
        f"### {ident}: {told.pop('title', f'Part {number}')}",
        *(f"**{key}:** {value}" for key, value in told.items()),
    ]
    table = ["**Test contract:**", "| # | Behavior | Test type | Test file | Command |", "|---|---|---|---|---|", *rows]
    return "\n".join([*lines, *(table if told["Test contract status"] == "REQUIRED" else []), ""]) + "\n"


def graph(*tasks: str) -> str:
    return "# TASK-GRAPH\n\n" + "\n".join(tasks)


BUILDER = """
files = brief["file_scope"]
name = files[0].removesuffix(".py")
pathlib.Path("tests").mkdir(exist_ok=True)
tests = [path for path in files if path.startswith("tests/")]
pathlib.Path(files[0]).write_text("def value(n):\\n    return n * 42\\n")
for k, path in enumerate(tests, 1):
    line = f"    assert value({k}) == {k * 42}\\n\\n\\n"
    if SKIPS(name, k):
        pathlib.Path(path).write_text(f"from {name} import value\\n\\n\\ndef test_unnamed():\\n{line}")
    with open(tests[0] if SKIPS(name, k) else path, "a") as file:
        file.write(f"from {name} import value\\n\\n\\ndef test_REQ_{k:03d}_{name}():\\n{line}")
"""
"""An agent that writes the code and every test of its contract, but for those that `SKIPS` names in another file."""
