"""The pages of docs/cli, from the same source as --help: python -m damascus.cli.pages docs/cli"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from damascus.cli.main import app

HEAD = "<!-- Made by `python -m damascus.cli.pages docs/cli` from the same source as --help. Don't edit. -->"
WIDTH = 100


def pages() -> dict[str, str]:
    """File name to text: one page per verb, and a list of them."""
    root = _Shown(get_command(app), None, "damascus")
    listed = ["| command | does |", "|---|---|"]
    listed += [f"| [`{verb.path}`]({verb.name}.md) | {verb.short} |" for verb in root.children]
    made = {f"{verb.name}.md": "\n".join(_page(verb)) + "\n" for verb in root.children}
    return made | {"README.md": f"{HEAD}\n\n# The command line\n\n" + "\n".join(listed) + f"\n\n{root.block}\n"}


class _Shown:
    """A command with the help that it shows. Its type is typer's own and private."""

    def __init__(self, command: Any, parent: Any, path: str) -> None:
        self.path, self.name = path, path.rsplit(" ", 1)[-1]
        context = command.make_context(self.name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH)
        self.short: str = command.get_short_help_str(200)
        lines = [line.rstrip() for line in command.get_help(context).strip().splitlines()]
        self.block = "\n".join(["```text", *lines, "```"])
        names = command.list_commands(context) if hasattr(command, "list_commands") else []
        self.children = [_Shown(command.get_command(context, name), context, f"{path} {name}") for name in names]


def _page(verb: _Shown) -> Iterator[str]:
    yield f"{HEAD}\n\n# {verb.path}\n\n{verb.block}"
    for child in verb.children:
        yield f"\n## {child.path}\n\n{child.block}"


def write(folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for stale in {path.name for path in folder.glob("*.md")} - set(made):
        (folder / stale).unlink()
    for name, text in made.items():
        (folder / name).write_text(text)
    return sorted(made)


if __name__ == "__main__":
    print("\n".join(write(Path(sys.argv[1]))))
