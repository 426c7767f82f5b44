"""Numbers of a project, from its rows and events alone (D21)."""

from datetime import UTC, datetime
from typing import Any

from damascus.store import flaky, spending, views
from damascus.store.db import Database
from damascus.store.projects import ProjectRow

FILES_SHOWN = 10
FLAKY_SHOWN = 20


def stats(db: Database, project: ProjectRow) -> dict[str, Any]:
    """Keys are stable: `stats --json` prints exactly this. Times in seconds."""
    times = db.one("view_lead_times", project=project.id)
    assert times is not None
    files = db.all("view_files", project=project.id, limit=FILES_SHOWN)
    return {
        "landed": times["landed"],
        "lead_seconds": {"median": times["lead_median"], "p90": times["lead_p90"]},
        "work_seconds": {"median": times["work_median"], "p90": times["work_p90"]},
        "tries": {str(row["tries"]): row["stories"] for row in db.all("view_attempts", project=project.id)},
        "verdicts": {row["verdict"]: row["n"] for row in db.all("view_verdicts", project=project.id)},
        "files": [dict(row) for row in files],
        "flaky": [dict(row) for row in flaky.listed(db, project.id, FLAKY_SHOWN)],
        "cost": spending.cost(db, project, views.counts(db, project, datetime.now(UTC))).published(),
    }
