"""One message by hand, to every target of [notify]: does it arrive?"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from damascus.app import App, Project
from damascus.domain.errors import DamascusError, TransientError, UsageError
from damascus.domain.notices import Message
from damascus.engine.notices.targets import Target, targets
from damascus.people.acts import Done
from damascus.system.masking import own_keys, without_secrets


@dataclass(frozen=True)
class TargetTried:
    """What a target made of it; `error` is "" where it took the message."""

    target: str
    error: str


@dataclass(frozen=True)
class Tried(Done):
    """Every target of [notify]."""

    trials: tuple[TargetTried, ...]

    @property
    def failed(self) -> bool:
        return any(each.error for each in self.trials)

    def published(self) -> dict[str, object]:
        """The keys of `--json`: stable."""
        return {
            "targets": [{"target": each.target, "sent": not each.error, "error": each.error} for each in self.trials]
        }


def targets_of(app: App, project: Project) -> list[Target]:
    folder = project.here.top if project.here else project.folder
    return targets(project.config.notify, {**os.environ, **app.environ}, folder, app.home / "logs")


def send_test(app: App, project: Project) -> Tried:
    """A new key each time, so that no receiver takes it for one that it had. Nothing is written down."""
    if not project.config.notify.targets:
        raise UsageError(
            "[notify] names nobody to tell. Set command, webhook_env or desktop there (docs/notifications.md)."
        )
    name = project.row.name
    message = Message(f"test-{uuid4()}", name, f"{name}: a test message", ("sent by damascus notify test",))
    trials = tuple(TargetTried(each.name, _error(each, message, app.environ)) for each in targets_of(app, project))
    lost = [each.target for each in trials if each.error]
    said = f"not sent: {', '.join(lost)}." if lost else "the message was taken by every target."
    return Tried(said, "damascus doctor" if lost else "look whether it arrived", trials)


def _error(target: Target, message: Message, environ: Mapping[str, str]) -> str:
    if lacks := target.lacks():
        return lacks
    try:
        target.send(message)
    except (DamascusError, TransientError, OSError, ValueError) as err:
        keys = [value for name, value in environ.items() if name == "DAMASCUS_NOTIFY_SECRET"]
        return without_secrets(str(err), [*own_keys(), *keys])
    return ""
