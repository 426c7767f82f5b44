"""Issues of the configured forge become stories; the pull request of each closes its issue (X15)."""

from collections.abc import Mapping

from damascus.app import Project
from damascus.domain.errors import UsageError
from damascus.forges.issues import make_issues
from damascus.people.import_sources import NOTHING
from damascus.people.importing import FOLDER, ImportPlan, plan_records
from damascus.store.db import Database
from damascus.tasks.importers.issues import FORMAT, IssueText, place, record_of
from damascus.tasks.importers.record import unique
from damascus.telling.phrases import one_line

LABEL = "damascus"


def plan_issues(
    db: Database, project: Project, environ: Mapping[str, str], *, label: str = LABEL, into: str = FOLDER
) -> ImportPlan:
    """Those that are open and have the label. None is GONE: a closed issue is not listed."""
    told = one_line(label)
    if not told or "," in told:
        raise UsageError(f"{told!r} is no label. Name one: damascus import issues --label {LABEL}. {NOTHING}")
    forge = project.config.forge
    found = make_issues(forge, environ).issues(told)
    if not found:
        raise UsageError(f"{place(forge.url)} has no open issue with the label {told!r}. {NOTHING}")
    texts = [IssueText(one.number, one.title, one.body, one.labels) for one in found]
    return plan_records(db, project, FORMAT, unique([record_of(forge.url, each) for each in texts]), (into, ()))
