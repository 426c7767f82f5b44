"""The durable facts behind `why STORY` (X3). The words are made of them in telling/paragraph.py."""

from dataclasses import dataclass, field

from damascus.domain.waits import ItemState
from damascus.store import views
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow
from damascus.store.views import StoryRow, WorkerRow


@dataclass(frozen=True)
class Facts:
    """A story, what stands before it, and so on to the one that everybody behind it waits for."""

    row: StoryRow
    events: dict[str, Row]
    journal: list[Row] = field(default_factory=list)
    issues: list[Row] = field(default_factory=list)
    holds: list[Row] = field(default_factory=list)
    workers: list[WorkerRow] = field(default_factory=list)
    ahead: int = 0
    repo: Row = field(default_factory=dict)
    blocker: "Facts | None" = None

    @property
    def open_issue(self) -> Row | None:
        return next((issue for issue in self.issues if issue["closed_at"] is None), None)

    @property
    def root(self) -> "Facts":
        """The story at the end of the chain: who acts on that one moves them all."""
        return self.blocker.root if self.blocker else self

    @property
    def last_step(self) -> Row | None:
        """The step of this run that was begun last."""
        of_run = [row for row in self.journal if row["run_no"] == self.row.run_no]
        return max(of_run, key=lambda row: row["started_at"]) if of_run else None


def facts(db: Database, project: ProjectRow, story: str, *, behind: frozenset[str] = frozenset()) -> Facts:
    """`behind` are the stories that led here: whoever is met again ends the walk."""
    row = views.story_row(db, project, story)
    seen = behind | {row.story_id}
    ahead = db.one("view_ahead", item=row.id) if row.state == ItemState.READY else None
    blocker = facts(db, project, row.blocker, behind=seen) if row.blocker and row.blocker not in seen else None
    return Facts(
        row=row,
        events=views.last_events(db, row.id),
        journal=views.journal(db, row.id, row.run_no),
        issues=views.issues(db, row.id),
        holds=db.all("view_holds", item=row.id),
        workers=views.workers(db, project),
        ahead=ahead["n"] if ahead else 0,
        repo=db.one("view_repo", item=row.id) or {},
        blocker=blocker,
    )
