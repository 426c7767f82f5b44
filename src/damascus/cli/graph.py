"""damascus graph: the project's repositories, who needs whom, CI of each main, who works there and who waits."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import coloured, columns, next_step
from damascus.domain.graph import MainState
from damascus.people.graph import published
from damascus.store.graph import look
from damascus.telling.graph import About, ToldRepository, following, told

STATES = {MainState.GREEN: "green", MainState.RED: "bold red", MainState.PENDING: "yellow"}
LINES = {About.WORKING: "cyan", About.WAITING: "yellow", About.HELD: "bold red"}


def graph(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The project's repositories as a tree, roots on top: CI of each main, who works there, who waits, what is held.

    \b
    Example:  damascus graph
    """
    db, project = opened()
    seen = look(db, project.row.id)
    if as_json:
        print_json({"project": project.row.name, "repos": published(seen)})
        return
    plain = not coloured()
    console = Console(
        width=columns(), no_color=plain, force_terminal=not plain, highlight=False, markup=False, emoji=False
    )
    console.print(_tree(project.row.name, told(seen)))
    next_step(following(seen))


def _tree(name: str, repositories: list[ToldRepository]) -> Tree:
    top = Tree(Text(name, "bold"))
    places: dict[int | None, Tree] = {None: top}
    for repo in repositories:
        places[repo.id] = places[repo.below].add(_label(repo))
        for about, line in repo.lines:
            places[repo.id].add(Text(line, LINES[about]))
    return top


def _label(repo: ToldRepository) -> Text:
    label = Text.assemble((repo.name, "bold"), f"  {repo.main}  ")
    label.append(repo.ci, STATES[repo.state] if repo.state else "dim")
    return label.append(f"  also needs {', '.join(repo.also_needs)}" if repo.also_needs else "")
