"""The pages of docs/cli, from the same source as --help: python -m damascus.cli.pages docs/cli"""

import sys
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from damascus.cli.main import app

HEAD = "<!-- Made by `python -m damascus.cli.pages docs/cli` from the same source as --help. Don't edit. -->"
WIDTH = 100


def pages() -> dict[str, str]:
    """File name to text: one page per verb, and a list of them."""
    root = get_command(app)
    context = root.make_context("damascus", [], resilient_parsing=True, terminal_width=WIDTH)
    made = {}
    listed = ["| command | does |", "|---|---|"]
    for name in root.list_commands(context):  # type: ignore[attr-defined]
        command = root.get_command(context, name)  # type: ignore[attr-defined]
        made[f"{name}.md"] = "\n".join(_page(command, context, f"damascus {name}")) + "\n"
        listed.append(f"| [`damascus {name}`]({name}.md) | {command.get_short_help_str(200)} |")
    made["README.md"] = f"{HEAD}\n\n# The command line\n\n" + "\n".join(listed) + f"\n\n{_block(root, context)}\n"
    return made


def _page(command: object, parent: object, path: str) -> Iterator[str]:
    context = command.make_context(path.split()[-1], [], parent=parent, resilient_parsing=True, terminal_width=WIDTH)  # type: ignore[attr-defined]
    yield f"{HEAD}\n\n# {path}\n\n{_block(command, context)}"
    for name in getattr(command, "commands", {}):
        child = command.get_command(context, name)  # type: ignore[attr-defined]
        yield f"\n## {path} {name}\n"
        inner = child.make_context(name, [], parent=context, resilient_parsing=True, terminal_width=WIDTH)
        yield _block(child, inner)


def _block(command: object, context: object) -> str:
    text = command.get_help(context)  # type: ignore[attr-defined]
    return "```text\n" + "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n```"


def write(folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for stale in set(path.name for path in folder.glob("*.md")) - set(made):
        (folder / stale).unlink()
    for name, text in made.items():
        (folder / name).write_text(text)
    return sorted(made)


if __name__ == "__main__":
    print("\n".join(write(Path(sys.argv[1]))))
