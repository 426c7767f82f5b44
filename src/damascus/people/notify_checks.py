"""What `doctor` says of [notify]: can this machine use each target, and did the last message reach it?"""

from collections.abc import Iterator
from datetime import UTC, datetime

from damascus.app import App, Project
from damascus.domain.check import Check
from damascus.people.notifying import targets_of
from damascus.store import notices
from damascus.store.db import Row
from damascus.telling.phrases import clock, plural

TRY = "Try it: damascus notify test"


def examine(app: App, project: Project) -> Iterator[Check]:
    """Nothing to say where nobody is to be told."""
    if not project.config.notify.targets:
        return
    db, environ = app.database, app.environ
    waiting = {row["target"]: row for row in notices.waiting(db, project.row.id)}
    for target in targets_of(app, project):
        row = waiting.get(target.name)
        if lacks := target.lacks():
            yield Check("notify", "fail", f"{target.name}: {lacks} {TRY}")
        elif row is not None and row["error"]:
            yield Check("notify", "fail", f"{target.name}: {_failing(row)} {TRY}")
    if project.config.notify.webhook_env and not environ.get(project.config.notify.secret_env):
        name = project.config.notify.secret_env
        yield Check("notify", "warn", f"messages to the webhook are not signed: {name} is not set here.")
    for row in notices.given_up(db, project.row.id):
        yield Check(
            "notify",
            "warn",
            f"{row['target']}: {plural(row['n'], 'message')} given up after three days: {row['error']}.",
        )


def _failing(row: Row) -> str:
    since = clock(row["since"], datetime.now(UTC))
    tried = plural(row["tries"], "try", "tries")
    return f"{plural(row['n'], 'message')} not sent since {since}, after {tried}: {row['error']}."
