"""No child of ours gets the terminal's signals: Ctrl-C asks us to stop, and we end what we started."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.stacks import REGISTRY
from damascus.store.embedded import binaries as pgbinaries
from damascus.trial_forge import programs as gitea_server_programs

SOURCES = Path(__file__).resolve().parents[2] / "src" / "damascus"
AT_THE_TERMINAL = ("cli/", "writes/terminal.py", "store/dump.py")
"""Run by a person's own command, at its terminal, with nothing to lose."""
IN_THE_CAGE = tuple(f"stacks/{name}/" for name in ("runners", *(f"{stack}/runner" for stack in REGISTRY)))
"""Children of a judged command, which has a session of its own."""


def calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(SOURCES.rglob("*.py")):
        name = str(path.relative_to(SOURCES))
        if name.startswith((*AT_THE_TERMINAL, *IN_THE_CAGE)):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("subprocess.run", "subprocess.Popen"):
                yield f"{name}:{node.lineno}", node


def own_session(call: ast.Call) -> bool:
    """By a word of its own, or by the arguments that change the account."""
    spread = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg is None]
    named = any(keyword.arg == "start_new_session" for keyword in call.keywords)
    return named or any(words.startswith(("running_as(", "as_user(")) for words in spread)


@pytest.mark.req("D20")
def test_every_child_has_a_session_of_its_own() -> None:
    found = dict(calls())
    assert len(found) > 15
    assert [where for where, call in found.items() if not own_session(call)] == []
    assert pgbinaries.running_as(None)["start_new_session"] and gitea_server_programs.as_user(None)["start_new_session"]
