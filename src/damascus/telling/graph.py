"""The project's repositories in words: CI of each main, who works there, who waits for what, what is held."""

from dataclasses import dataclass
from enum import StrEnum

from damascus.domain.graph import MainState
from damascus.domain.ids import short
from damascus.domain.waits import WaitKind
from damascus.store.db import Row
from damascus.store.graph import GraphView, Repo
from damascus.telling.phrases import listed, one_line, plural

MOST = 5
NOT_WORKED = (WaitKind.CHAIN, WaitKind.UPSTREAM, WaitKind.REPO_FULL, WaitKind.HOLD)


class About(StrEnum):
    """What a line below a repository is about."""

    WORKING = "working"
    WAITING = "waiting"
    HELD = "held"


@dataclass(frozen=True)
class ToldRepository:
    """One repository: its place in the tree, CI of its main, and the lines that stand below it.

    `below` is the last one in order that it needs; `also_needs` names the others.
    """

    id: int
    below: int | None
    name: str
    main: str
    state: MainState | None
    ci: str
    also_needs: list[str]
    lines: list[tuple[About, str]]


def told(seen: GraphView) -> list[ToldRepository]:
    """Roots first, each repository once."""
    known = {repo.id: repo for repo in seen.repos}
    order = seen.graph.roots_first()
    return [_repository(seen, known, order, known[repo]) for repo in order]


def _repository(seen: GraphView, known: dict[int, Repo], order: list[int], repo: Repo) -> ToldRepository:
    ups = sorted((up for up, down in seen.graph.edges if down == repo.id), key=order.index)
    return ToldRepository(
        id=repo.id,
        below=ups[-1] if ups else None,
        name=repo.name,
        main=f"{repo.main_branch} {short(repo.ci_sha or repo.main_sha)}",
        state=MainState.RED if repo.red_since else repo.ci_state,
        ci=ci(repo),
        also_needs=[known[up].name for up in ups[:-1]],
        lines=_lines(seen, repo),
    )


def ci(repo: Repo) -> str:
    """What CI says of its main."""
    if repo.red_since and repo.ci_state == MainState.PENDING:
        return "red, a newer commit is being tested"
    match repo.ci_state:
        case MainState.GREEN:
            return "green"
        case MainState.RED:
            return f"red: {one_line(repo.ci_text)}"
        case MainState.PENDING:
            return "CI has not answered yet"
    return "CI is not asked" if repo.ci_sha is None else "no CI of its own"


def works(story: Row) -> bool:
    """Is it worked on, or waiting for something other than its repositories?"""
    return bool(story["works"]) and story["wait_kind"] not in NOT_WORKED


def reason(seen: GraphView, story: Row) -> str:
    """What keeps it out of its repository; "" if nothing of the graph does."""
    names = {str(repo.id): repo.name for repo in seen.repos}
    match story["wait_kind"]:
        case WaitKind.CHAIN:
            return f"for {story['blocker']}, in its chain"
        case WaitKind.UPSTREAM:
            return f"until {names.get(story['wait_key'], 'what it needs')} is green"
        case WaitKind.REPO_FULL:
            return "for a place"
        case WaitKind.HOLD:
            return f"for the hold on {names.get(story['wait_key'], 'a repository')}"
    return ""


def following(seen: GraphView) -> str:
    """What to do next."""
    if any(repo.red_since for repo in seen.repos):
        return "damascus inbox"
    if len(seen.repos) == 1:
        return "damascus init --joins FOLDER, in another repository (docs/graph.md)"
    return "damascus status"


def _lines(seen: GraphView, repo: Repo) -> list[tuple[About, str]]:
    mine = [story for story in seen.stories if story["repo_id"] == repo.id]
    working = [story["story_id"] for story in mine if works(story)]
    bound = f" (at most {repo.max_workers})" if repo.max_workers else ""
    verb = "works" if len(working) == 1 else "work"
    found = [(About.WORKING, f"{listed(working, MOST)} {verb} here{bound}")] if working else []
    waits: dict[str, list[str]] = {}
    for story in mine:
        if not works(story) and (why := reason(seen, story)):
            waits.setdefault(why, []).append(story["story_id"])
    found += [(About.WAITING, f"{_named(stories)} {why}") for why, stories in waits.items()]
    holds = [hold for hold in seen.holds if hold["repo_id"] == repo.id]
    return [*found, *((About.HELD, f"held: {one_line(hold['reason'])}") for hold in holds)]


def _named(stories: list[str]) -> str:
    if len(stories) == 1:
        return f"{stories[0]} waits"
    return f"{listed(stories, MOST) if len(stories) <= MOST else plural(len(stories), 'story', 'stories')} wait"
