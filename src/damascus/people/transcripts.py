"""What agents said and commands printed, as a page shows it: the last ones, their ends, masked and in plain text."""

from dataclasses import dataclass

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.people import story_logs
from damascus.people.story_logs import StoryLog
from damascus.store.views import StoryRow
from damascus.system.masking import own_keys, without_secrets
from damascus.telling.transcripts import Digest, digest

SHOWN = 3
LINES = 400
LONGEST_LINE = 2_000


@dataclass(frozen=True)
class LogShown:
    """A log, by its path below the story's runs; `digest` of the last lines of those that are shown at once."""

    name: str
    run: int
    bytes: int
    digest: Digest | None = None
    left_out: int = 0


def logs_shown(app: App, project: Project, row: StoryRow) -> tuple[list[LogShown], list[LogShown]]:
    """Those that a person looks for first, and all others that are not empty, the newest first."""
    folder = project.runs / row.story_id
    found = story_logs.logs_in(folder)
    if not found:
        return [], []
    first = story_logs.wanted(found, row, None)[:SHOWN]
    others = [log for log in reversed(found) if log.bytes and log not in first and not log.is_trial]
    return [_read(app, project, row, log) for log in first], [_named(project, row, log) for log in others[:100]]


def one_log(app: App, project: Project, row: StoryRow, name: str) -> LogShown:
    """By a name that `logs_shown` gave: nothing else is ever opened."""
    folder = project.runs / row.story_id
    log = next((one for one in story_logs.logs_in(folder) if str(one.path.relative_to(folder)) == name), None)
    if log is None:
        raise DamascusError(f"{row.story_id} has no such log. See which there are: damascus logs {row.story_id}")
    return _read(app, project, row, log)


def _read(app: App, project: Project, row: StoryRow, log: StoryLog) -> LogShown:
    named = _named(project, row, log)
    lines = story_logs.text_of(log)
    hidden = [*own_keys(), *(app.environ.get(name, "") for name in project.config.workspace.env)]
    text = without_secrets("\n".join(line[:LONGEST_LINE] for line in lines[-LINES:]), hidden)
    return LogShown(named.name, log.run, log.bytes, digest(text.split("\n")), max(len(lines) - LINES, 0))


def _named(project: Project, row: StoryRow, log: StoryLog) -> LogShown:
    return LogShown(str(log.path.relative_to(project.runs / row.story_id)), log.run, log.bytes)
