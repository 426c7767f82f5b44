"""A project as a service of the person's own systemd: it starts with the machine, and again when it dies.

Nothing is enabled or started unless that was asked for in so many words; what was done is said by its command.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.domain.systemd_unit import Unit
from damascus.people.acts import Done

PASSED_ON = ("PATH", "DAMASCUS_HOME", "XDG_DATA_HOME", "LANG")
"""Variables of the person's that the service needs, too; none of them is a key."""
SECONDS = 30.0


@dataclass(frozen=True)
class ServiceStanding(Done):
    """What there is of the service: `enabled` and `active` are systemd's own words."""

    name: str
    file: Path
    installed: bool
    enabled: str
    active: str

    def published(self) -> dict[str, object]:
        """The keys of `--json`: stable."""
        facts = {"unit": self.name, "file": str(self.file), "installed": self.installed}
        return facts | {"enabled": self.enabled, "active": self.active}


def unit_of(app: App, project: Project, options: Sequence[str] = ()) -> Unit:
    """`damascus up` in the repository's folder, by the program that is called now."""
    program = [sys.executable, "-m", "damascus.cli.main", "up", *options]
    kept = {name: app.environ[name] for name in PASSED_ON if app.environ.get(name)}
    return Unit(project.row.name, str(project.repository.top), program, kept | {"DAMASCUS_HOME": str(app.home)})


def place(unit: Unit, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(environ.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "systemd" / "user" / unit.name


def install(app: App, unit: Unit, *, enable: bool) -> Done:
    file = place(unit, app.environ)
    file.parent.mkdir(parents=True, exist_ok=True)
    news = not file.exists() or file.read_text() != unit.text
    file.write_text(unit.text)
    said = f"{'wrote' if news else 'unchanged:'} {file}."
    start = f"systemctl --user enable --now {unit.name}"
    later = (
        f" It also runs while you are logged out after: loginctl enable-linger {app.environ.get('USER') or ''}".rstrip()
    )
    if not enable:
        return Done(f"{said} Nothing was enabled or started.", f"{start}{_database(app, unit)}")
    _systemctl(app, "daemon-reload")
    _systemctl(app, "enable", "--now", unit.name)
    return Done(f"{said} It is enabled and started, as you asked: {start}.{later}", "damascus service status")


def remove(app: App, unit: Unit) -> Done:
    file = place(unit, app.environ)
    if not file.exists():
        raise DamascusError(f"there is no service of this project: {file} is not there. See: damascus service status")
    if shutil.which("systemctl", path=app.environ.get("PATH")):
        told = _asked(app, "disable", "--now", unit.name)
        stopped = "stopped and disabled it, " if told.returncode == 0 else "it was not running, "
    else:
        stopped = ""
    file.unlink()
    _asked(app, "daemon-reload")
    return Done(f"{stopped}removed {file}. Stories, database and settings are untouched.", "damascus run")


def standing(app: App, unit: Unit) -> ServiceStanding:
    file = place(unit, app.environ)
    installed = file.exists()
    enabled, active = _word(app, "is-enabled", unit.name), _word(app, "is-active", unit.name)
    said = f"{unit.name}: {enabled}, {active}." if installed else f"{unit.name} is not installed."
    if installed and not unit.is_as_written(file.read_text()):
        said += " Its file differs from what this release writes for this project."
    following = f"journalctl --user -u {unit.name}" if installed else "damascus service install"
    return ServiceStanding(said, following, unit.name, file, installed, enabled, active)


def _database(app: App, unit: Unit) -> str:
    if not app.environ.get("DAMASCUS_DATABASE_URL"):
        return ""
    return f"; first write DAMASCUS_DATABASE_URL into ~/.config/{unit.secrets} (mode 0600): it may hold a password"


def _word(app: App, *words: str) -> str:
    """One word of systemd's; "unknown" where there is none to ask."""
    told = _asked(app, *words)
    return told.stdout.strip().splitlines()[0] if told.stdout.strip() else "unknown"


def _systemctl(app: App, *words: str) -> None:
    told = _asked(app, *words)
    if told.returncode != 0:
        why = (told.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise DamascusError(f"systemctl --user {' '.join(words)} failed: {why}. The unit's file is written.")


def _asked(app: App, *words: str) -> "subprocess.CompletedProcess[str]":
    command = ["systemctl", "--user", *words]
    try:
        return subprocess.run(
            command, env=app.environ, capture_output=True, text=True, timeout=SECONDS, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        return subprocess.CompletedProcess(command, 1, "", f"systemctl can't be run: {err}")
