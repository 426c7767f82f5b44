"""Where a gateway of ours lives: `$DAMASCUS_HOME/gateway` with its config, its key, its log and who runs it.

The key is made once, is readable by its owner alone, and goes to the gateway at the address written here and nowhere
else. The config names variables, so it holds no secret.
"""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.system import procfs
from damascus.system.hostid import boot_id


@dataclass(frozen=True)
class Running:
    """A gateway process; its PID alone proves nothing after a crash or a reboot."""

    pid: int
    start: int
    boot: str
    url: str

    @classmethod
    def of(cls, pid: int, url: str) -> "Running":
        return cls(pid, procfs.start_time(pid), boot_id(), url)

    @property
    def alive(self) -> bool:
        if self.boot != boot_id():
            return False
        if found := procfs.process(self.pid):
            return found.start == self.start and not found.zombie
        return self.start == 0 and _exists(self.pid)


@dataclass(frozen=True)
class Place:
    home: Path

    @property
    def folder(self) -> Path:
        return self.home / "gateway"

    @property
    def config(self) -> Path:
        return self.folder / "litellm.yaml"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def key_file(self) -> Path:
        return self.folder / "master-key"

    def make(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.folder.mkdir(mode=0o700)

    def write_private(self, path: Path, text: str) -> None:
        """Aside and renamed, never readable by others."""
        aside = path.with_name(f"{path.name}.new")
        aside.unlink(missing_ok=True)
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        aside.replace(path)

    def key(self) -> str:
        """The master key; made when there is none."""
        with suppress(FileNotFoundError):
            found = self.key_file.read_text().strip()
            if found:
                return found
        self.make()
        self.write_private(self.key_file, f"sk-{secrets.token_hex(32)}\n")
        return self.key_file.read_text().strip()

    # ── who runs ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def _record(self) -> Path:
        return self.folder / "running.json"

    def running(self) -> Running | None:
        try:
            found = Running(**json.loads(self._record.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        except OSError as err:
            raise DamascusError(f"{self._record} can't be read: {err.strerror}. Correct its owner.") from None
        return found if found.alive else None

    def note(self, running: Running) -> None:
        self.write_private(self._record, json.dumps(asdict(running)))

    def forget(self) -> None:
        self._record.unlink(missing_ok=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
