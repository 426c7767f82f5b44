"""The graph of a project's repositories: who needs whom, and in which order (W13). Pure: names and numbers only."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from damascus.domain.described import Described
from damascus.domain.errors import UsageError

Edges = frozenset[tuple[int, int]]
"""(up, down): the repository `down` depends on `up`."""
VARIABLE = "DAMASCUS_UPSTREAM_"


class MainState(Described):
    """What CI says of a repository's main."""

    PENDING = "pending", "it has not told yet"
    GREEN = "green", "every job that must be green is"
    RED = "red", "a job failed: nothing is built on top of it"


@dataclass(frozen=True)
class Declared:
    """What main's damascus.toml of one repository says."""

    repo: int
    name: str
    needs: tuple[str, ...] = ()
    max_workers: int = 0


@dataclass(frozen=True)
class Graph:
    """Repositories by number, and their edges without a circle."""

    names: Mapping[int, str]
    edges: Edges = field(default_factory=frozenset)

    def above(self, repo: int) -> set[int]:
        """All that it depends on, through however many others."""
        return _reached(repo, {(down, up) for up, down in self.edges})

    def below(self, repo: int) -> set[int]:
        return _reached(repo, self.edges)

    def linked(self) -> set[int]:
        return {repo for edge in self.edges for repo in edge}

    def roots_first(self) -> list[int]:
        """Every repository after all that it depends on; otherwise in the order of their numbers."""
        return sorted(self.names, key=lambda repo: (self.depth(repo), repo))

    def depth(self, repo: int) -> int:
        return max((self.depth(up) + 1 for up, down in self.edges if down == repo), default=0)


def _reached(start: int, edges: Iterable[tuple[int, int]]) -> set[int]:
    found: set[int] = set()
    todo = [start]
    while todo:
        here = todo.pop()
        further = {to for of, to in edges if of == here} - found
        found |= further
        todo += further
    return found


def declared_graph(known: Graph, declared: Iterable[Declared]) -> Graph:
    """The graph once these repositories say what they need; others keep their edges. Refused with one sentence."""
    said = list(declared)
    names = {**known.names, **{one.repo: one.name for one in said}}
    _refuse_twins(names)
    numbers = {name.lower(): repo for repo, name in names.items()}
    told = {one.repo for one in said}
    edges = {edge for edge in known.edges if edge[1] not in told}
    for one in said:
        edges |= {(_number(need, one, numbers, names), one.repo) for need in one.needs}
    graph = Graph(names, frozenset(edges))
    _refuse_circle(graph)
    return graph


def _refuse_twins(names: Mapping[int, str]) -> None:
    """Their variables tell them apart too: `my-lib` and `my.lib` would be one."""
    seen: set[str] = set()
    for name in names.values():
        if variable(name) in seen:
            raise UsageError(
                f"two repositories of this project are called {name}. Give one another name: [project] name in its "
                "damascus.toml, on its main branch."
            )
        seen.add(variable(name))


def _number(need: str, of: Declared, numbers: Mapping[str, int], names: Mapping[int, str]) -> int:
    found = numbers.get(need.lower())
    if found is None:
        others = ", ".join(sorted(name for repo, name in names.items() if repo != of.repo)) or "no other repository"
        raise UsageError(
            f"{of.name} needs the repository {need!r}, and this project has {others}. Correct [repo] needs in its "
            "damascus.toml, or join that repository: damascus init --joins FOLDER (docs/graph.md)."
        )
    return found


def _refuse_circle(graph: Graph) -> None:
    for repo in graph.names:
        if repo in graph.above(repo):
            way = " → ".join(graph.names[step] for step in _circle(graph, repo))
            raise UsageError(
                f"the repositories need each other in a circle: {way}. Correct [repo] needs in one of their "
                "damascus.toml (docs/graph.md)."
            )


def _circle(graph: Graph, repo: int) -> list[int]:
    """From the repository back to itself, along what each one needs."""
    way = [repo]
    while len(way) == 1 or way[-1] != repo:
        ups = sorted(up for up, down in graph.edges if down == way[-1])
        way.append(next(up for up in ups if up == repo or repo in graph.above(up)))
    return way


def variable(name: str) -> str:
    """`DAMASCUS_UPSTREAM_CORE`: where a judged command finds a checkout of the repository `core`."""
    return VARIABLE + re.sub(r"[^A-Z0-9]", "_", name.upper())
