"""Where a gateway of ours lives: `$DAMASCUS_HOME/gateway` with its config, its key, its log and who runs it.

The key is made once, is readable by its owner alone, and goes to the gateway at the address written here and nowhere
else. The config names variables, so it holds no secret.
"""

import json
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.system.daemon import Daemon
from damascus.system.replacing import PRIVATE, replace_file


@dataclass(frozen=True)
class Running(Daemon):
    """A gateway process, and where it answers."""

    url: str


@dataclass(frozen=True)
class GatewayPlace:
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
        replace_file(path, text, mode=PRIVATE)

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
