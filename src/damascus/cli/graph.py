"""damascus graph: the project's repositories, who needs whom, CI of each main, who works there and who waits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import coloured, columns, next_step
from damascus.cli.words import listed, one_line, plural
from damascus.domain.ids import short

if TYPE_CHECKING:
    from rich.tree import Tree

    from damascus.store.db import Row
    from damascus.store.graph import Repo, Seen

STYLES = {"green": "green", "red": "bold red", "pending": "yellow"}
MOST = 5


def graph(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The project's repositories as a tree, roots on top: CI of each main, who works there, who waits, what is held.

    \b
    Example:  damascus graph
    """
    from rich.console import Console

    from damascus.store.graph import look

    db, project = opened()
    seen = look(db, project.row.id)
    if as_json:
        print_json({"project": project.row.name, "repos": [_published(seen, repo) for repo in seen.repos]})
        return
    plain = not coloured()
    console = Console(
        width=columns(), no_color=plain, force_terminal=not plain, highlight=False, markup=False, emoji=False
    )
    console.print(_tree(project.row.name, seen))
    next_step(_next(seen))


def _next(seen: "Seen") -> str:
    if any(repo.red_since for repo in seen.repos):
        return "damascus inbox"
    if len(seen.repos) == 1:
        return "damascus init --joins FOLDER, in another repository (docs/graph.md)"
    return "damascus status"


# ── the tree ──────────────────────────────────────────────────────────────────────────────────────────


def _tree(name: str, seen: "Seen") -> "Tree":
    """Each repository once, below the last one in order that it needs; `also needs` names the others."""
    from rich.text import Text
    from rich.tree import Tree

    top = Tree(Text(name, "bold"))
    places: dict[int, Tree] = {}
    known = {repo.id: repo for repo in seen.repos}
    order = seen.graph.roots_first()
    for repo in order:
        ups = sorted((up for up, down in seen.graph.edges if down == repo), key=order.index)
        also = [known[up].name for up in ups[:-1]]
        places[repo] = (places[ups[-1]] if ups else top).add(_label(known[repo], also))
        for line, style in _lines(seen, known[repo]):
            places[repo].add(Text(line, style))
    return top


def _label(repo: "Repo", also: list[str]) -> Any:
    from rich.text import Text

    label = Text.assemble((repo.name, "bold"), f"  {repo.main_branch} {short(repo.ci_sha or repo.main_sha)}  ")
    label.append(_ci(repo), STYLES.get(_state(repo) or "", "dim"))
    return label.append(f"  also needs {', '.join(also)}" if also else "")


def _state(repo: "Repo") -> str | None:
    return "red" if repo.red_since else repo.ci_state


def _ci(repo: "Repo") -> str:
    if repo.red_since and repo.ci_state == "pending":
        return "red, a newer commit is being tested"
    match repo.ci_state:
        case "green":
            return "green"
        case "red":
            return f"red: {one_line(repo.ci_text)}"
        case "pending":
            return "CI has not told yet"
    return "CI is not asked" if repo.ci_sha is None else "no CI of its own"


def _lines(seen: "Seen", repo: "Repo") -> list[tuple[str, str]]:
    """Who works in it, who waits for what, what holds it."""
    mine = [story for story in seen.stories if story["repo_id"] == repo.id]
    works = [story["story_id"] for story in mine if _works(story)]
    bound = f" (at most {repo.max_workers})" if repo.max_workers else ""
    found = [(f"{listed(works, MOST)} {_verb(works)} here{bound}", "cyan")] if works else []
    waits: dict[str, list[str]] = {}
    for story in mine:
        if not _works(story) and (reason := _reason(seen, story)):
            waits.setdefault(reason, []).append(story["story_id"])
    for reason, stories in waits.items():
        found.append((f"{_named(stories)} {_wait(stories)} {reason}", "yellow"))
    holds = [hold for hold in seen.holds if hold["repo_id"] == repo.id]
    return [*found, *((f"held: {one_line(hold['reason'])}", "bold red") for hold in holds)]


def _works(story: "Row") -> bool:
    return bool(story["works"]) and story["wait_kind"] not in ("chain", "upstream", "repo_full", "hold")


def _verb(stories: list[str]) -> str:
    return "works" if len(stories) == 1 else "work"


def _wait(stories: list[str]) -> str:
    return "waits" if len(stories) == 1 else "wait"


def _named(stories: list[str]) -> str:
    return listed(stories, MOST) if len(stories) <= MOST else plural(len(stories), "story", "stories")


def _reason(seen: "Seen", story: "Row") -> str:
    names = {str(repo.id): repo.name for repo in seen.repos}
    match story["wait_kind"]:
        case "chain":
            return f"for {story['blocker']}, in its chain"
        case "upstream":
            return f"until {names.get(story['wait_key'], 'what it needs')} is green"
        case "repo_full":
            return "for a place"
        case "hold":
            return f"for the hold on {names.get(story['wait_key'], 'a repository')}"
    return ""


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────


def _published(seen: "Seen", repo: "Repo") -> dict[str, Any]:
    names = {one.id: one.name for one in seen.repos}
    mine = [story for story in seen.stories if story["repo_id"] == repo.id]
    return {
        "name": repo.name,
        "path": repo.path,
        "main_branch": repo.main_branch,
        "needs": sorted(names[up] for up, down in seen.graph.edges if down == repo.id),
        "needed_by": sorted(names[down] for up, down in seen.graph.edges if up == repo.id),
        "ci": {"state": repo.ci_state, "commit": repo.ci_sha, "text": repo.ci_text, "red_since": repo.red_since},
        "max_workers": repo.max_workers,
        "working": [story["story_id"] for story in mine if _works(story)],
        "waiting": [
            {"story_id": story["story_id"], "kind": story["wait_kind"], "for": _reason(seen, story)}
            for story in mine
            if not _works(story) and story["wait_kind"]
        ],
        "holds": [{"reason": h["reason"], "since": h["created_at"]} for h in seen.holds if h["repo_id"] == repo.id],
    }
