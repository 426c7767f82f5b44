"""What a Gitea of ours and its runners are told: loopback only, no mail, no avatars, no clock-work of the night."""

import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

LABELS = ("ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "self-hosted")

APP_INI = """\
APP_NAME = Damascus
RUN_MODE = prod
WORK_PATH = {work}

[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = {static}

[database]
DB_TYPE = sqlite3
PATH = {work}/data/gitea.db
SQLITE_JOURNAL_MODE = WAL

[security]
INSTALL_LOCK = true
SECRET_KEY = {secret_key}
INTERNAL_TOKEN = {internal_token}

[service]
DISABLE_REGISTRATION = true

[indexer]
ISSUE_INDEXER_TYPE = db

[actions]
ENABLED = true
DEFAULT_ACTIONS_URL = self
ZOMBIE_TASK_TIMEOUT = {zombie}s

[cron.stop_zombie_tasks]
SCHEDULE = @every {zombie_look}s

[webhook]
ALLOWED_HOST_LIST = loopback

[log]
MODE = console
LEVEL = Warn
"""

RUNNER = """\
log:
  level: info
runner:
  capacity: 1
  fetch_interval: 1s
  fetch_interval_max: 1s
  log_report_interval: 1s
  log_report_max_latency: 500ms
  state_report_interval: 1s
  labels:
{labels}
cache:
  enabled: false
host:
  workdir_parent: {work}
"""


@dataclass(frozen=True)
class GiteaSettings:
    port: int
    secret_key: str
    internal_token: str
    registration: str
    zombie_seconds: int

    @classmethod
    def new(cls, zombie_seconds: int) -> "GiteaSettings":
        """Without a port yet."""
        return cls(0, secrets.token_hex(32), secrets.token_hex(32), secrets.token_hex(24), zombie_seconds)

    def text(self, work: Path, static: Path) -> str:
        return APP_INI.format(
            work=work, static=static, port=self.port, secret_key=self.secret_key, internal_token=self.internal_token,
            zombie=self.zombie_seconds, zombie_look=max(1, self.zombie_seconds // 2),
        )  # fmt: skip


def runner_settings(labels: tuple[str, ...], work: Path) -> str:
    """Every label `:host`: one without would ask for a container."""
    return RUNNER.format(labels="\n".join(f'    - "{label}:host"' for label in labels), work=work)


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port
