"""The graph of a project's repositories in the database: its edges, what CI says of each main, who works and who waits.

The locks themselves are the claim's (functions/repo_blocker.sql): `repo_locks` refuses two repositories of one chain.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from damascus.domain.events import EventKind
from damascus.domain.graph import Declared, Graph, MainState, declared_graph
from damascus.domain.recovery import QuestionAbout
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.journal import write_events

NEWS = {MainState.RED: EventKind.REPO_RED, MainState.GREEN: EventKind.REPO_GREEN}


@dataclass(frozen=True)
class Repo:
    """A repository as the graph knows it. `ci_state` None: there is no CI that could tell."""

    id: int
    uuid: UUID
    name: str
    joined: bool
    path: str
    main_branch: str
    main_sha: str | None
    max_workers: int
    ci_state: MainState | None
    ci_sha: str | None
    ci_with: dict[str, str]
    ci_text: str | None
    green_sha: str | None
    green_with: dict[str, str]
    red_since: datetime | None


@dataclass(frozen=True)
class Judgement:
    """What CI says of main's tip together with these upstream tips (by the repositories' numbers)."""

    repo: int
    sha: str
    upstream: Mapping[int, str]
    state: MainState | None
    text: str = ""
    cause: Mapping[str, object] = field(default_factory=dict)
    """What else the event tells: the upstream commit that broke it."""

    @property
    def with_json(self) -> dict[str, str]:
        return {str(repo): sha for repo, sha in sorted(self.upstream.items())}


def repos(db: Database, project: int) -> list[Repo]:
    return [Repo(**row) for row in db.all("graph_repos", project=project)]


def graph(db: Database, project: int) -> Graph:
    return db.run(lambda c: _graph(c, project))


def _graph(c: Connection, project: int) -> Graph:
    names = {row["id"]: row["name"] for row in c.execute(sql("graph_repos"), {"project": project})}
    edges = {(row["up"], row["down"]) for row in c.execute(sql("graph_edges"), {"project": project})}
    return Graph(names, frozenset(edges))


def declare(db: Database, project: int, declared: Iterable[Declared]) -> bool:
    """Take over what main's damascus.toml of these repositories says; whether that changed anything. Or refuse it."""
    said = list(declared)

    def work(c: Connection) -> bool:
        c.execute(sql("graph_lock"), {"project": project})
        known = _graph(c, project)
        wanted = declared_graph(known, said)
        rows = {row["id"]: row for row in c.execute(sql("graph_repos"), {"project": project})}
        bounds = {one.repo: one.max_workers for one in said}
        if wanted == known and all(rows[repo]["max_workers"] == most for repo, most in bounds.items()):
            return False
        for one in said:
            c.execute(sql("graph_declare"), {"repo": one.repo, "name": one.name, "max_workers": one.max_workers})
        c.execute(sql("graph_forget_edges"), {"repos": list(bounds)})
        new = sorted(edge for edge in wanted.edges if edge[1] in bounds)
        c.execute(sql("graph_add_edges"), {"ups": [up for up, _ in new], "downs": [down for _, down in new]})
        c.execute(sql("graph_changed"), {"project": project})
        return True

    return db.run(work)


def judge(db: Database, project: int, told: Judgement, question: "RepoQuestion | None" = None) -> MainState | None:
    """Record what CI says, and tell of it: red or green when that is new. With red goes a question, once."""
    params = {"repo": told.repo, "sha": told.sha, "with": jsonb(told.with_json), "state": told.state, "text": told.text}

    def work(c: Connection) -> MainState | None:
        row = c.execute(sql("judge_repo"), params).fetchone()
        news = MainState(row["news"]) if row and row["news"] else None
        if news is not None:
            body: dict[str, object] = {"repo": told.repo, "commit": told.sha, "message": told.text, **told.cause}
            write_events(c, project, None, ((NEWS[news], body),))
        if news == MainState.GREEN:
            close(c, project, told.repo, QuestionAbout.RED, "main is green again")
        if question is not None and told.state == MainState.RED:
            ask(c, project, question)
        return news

    return db.run(work)


@contextmanager
def alone(db: Database, repo: int) -> Iterator[bool]:
    """Whether nobody else is judging this main at the moment; then nobody else begins."""
    row = db.one("graph_alone", repo=repo)
    got = bool(row and row["got"])
    try:
        yield got
    finally:
        if got:
            db.do("graph_not_alone", repo=repo)


@dataclass(frozen=True)
class RepoQuestion:
    """A question about a repository. `about` holds what its answers act on: repo and about name it."""

    text: str
    options: tuple[str, ...]
    about: dict[str, Any]


def ask(c: Connection, project: int, question: RepoQuestion) -> int | None:
    """The question's number; None: it is open already."""
    params = {"project": project, "question": question.text, "options": list(question.options)}
    row = c.execute(sql("open_repo_issue"), params | {"about": jsonb(question.about)}).fetchone()
    if row is None:
        return None
    write_events(c, project, None, ((EventKind.ISSUE_OPENED, {"question": question.text}),))
    return int(row["id"])


def close(c: Connection, project: int, repo: int, about: QuestionAbout, answer: str) -> None:
    params = {"project": project, "repo": repo, "about": about, "answer": answer}
    for row in c.execute(sql("close_repo_issues"), params).fetchall():
        write_events(c, project, None, ((EventKind.ISSUE_ANSWERED, {"issue": row["id"], "answer": answer}),))


@dataclass(frozen=True)
class GraphView:
    """One look at the graph: repositories, edges, who works and who waits, and what is held."""

    repos: list[Repo]
    graph: Graph
    stories: list[Row]
    holds: list[Row]


def look(db: Database, project: int) -> GraphView:
    return GraphView(
        repos(db, project),
        graph(db, project),
        db.all("view_graph", project=project),
        db.all("view_repo_holds", project=project),
    )


def judge_again(db: Database, repo: int) -> None:
    """A person believes that it is not the code: CI of main is asked once more."""
    db.do("judge_again", repo=repo)


def saw_main(db: Database, repo: int, sha: str) -> None:
    """Where main is. If it moved, neither it nor what depends on it is known to be green."""
    db.do("saw_main", repo=repo, sha=sha)
