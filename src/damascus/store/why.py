"""The durable facts behind `why STORY` (X3). The words are made of them in cli/paragraph.py."""

from dataclasses import dataclass, field

from damascus.store import views
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow
from damascus.store.views import StoryRow, Worker


@dataclass(frozen=True)
class Facts:
    """A story, what stands before it, and one level of what that waits for."""

    row: StoryRow
    events: dict[str, Row]
    journal: list[Row] = field(default_factory=list)
    issues: list[Row] = field(default_factory=list)
    holds: list[Row] = field(default_factory=list)
    dependencies: list[Row] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    ahead: int = 0
    repo: Row = field(default_factory=dict)
    blocker: "Facts | None" = None

    @property
    def open_issue(self) -> Row | None:
        return next((issue for issue in self.issues if issue["closed_at"] is None), None)

    @property
    def last_step(self) -> Row | None:
        """The step of this run that was begun last."""
        of_run = [row for row in self.journal if row["run_no"] == self.row.run_no]
        return max(of_run, key=lambda row: row["started_at"]) if of_run else None


def facts(db: Database, project: ProjectRow, story: str, *, depth: int = 1) -> Facts:
    row = views.story_row(db, project, story)
    ahead = db.one("view_ahead", item=row.id) if row.state == "ready" else None
    blocker = facts(db, project, row.blocker, depth=depth - 1) if row.blocker and depth else None
    return Facts(
        row=row,
        events=views.last_events(db, row.id),
        journal=views.journal(db, row.id, row.run_no),
        issues=views.issues(db, row.id),
        holds=db.all("view_holds", item=row.id),
        dependencies=db.all("view_dependencies", item=row.id),
        workers=views.workers(db, project),
        ahead=ahead["n"] if ahead else 0,
        repo=db.one("view_repo", item=row.id) or {},
        blocker=blocker,
    )
