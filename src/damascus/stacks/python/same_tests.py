"""Which tests of a Python file say the same in two versions of it, and rest on the same."""

import ast

from damascus.stacks.python.text import decoded, parsed, said

Holder = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def same_tests(old: bytes, new: bytes) -> set[str]:
    """Functions and classes at the top of the file that hold tests, where all else in it is the same as well; new tests
    beside them change nothing."""
    try:
        before, after = (_read(source) for source in (old, new))
    except ValueError:
        return set()
    if before[1] != after[1]:
        return set()
    return {name for name, says in before[0].items() if after[0].get(name) == says}


def _read(source: bytes) -> tuple[dict[str, str], list[str]]:
    tests: dict[str, str] = {}
    rest: list[str] = []
    for node in parsed(decoded(source)[0]).body:
        if isinstance(node, Holder) and node.name.lower().startswith("test") and node.name not in tests:
            tests[node.name] = said(node)
        else:
            rest.append(said(node))
    return tests, rest
