"""The targets of [notify]: each sends one message, or says in a sentence why it could not.

Nobody waits for them but their own thread, and each gives up after some seconds. A key goes with each message, the same
whenever it is sent again, so that a receiver can tell a second one from news.
"""

import hashlib
import hmac
import json
import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx

from damascus.domain.config_notify import NotifyConfig
from damascus.domain.errors import DamascusError
from damascus.domain.notices import Message, NoticeTarget
from damascus.system import process

COMMAND_SECONDS = 30.0
WEBHOOK_SECONDS = 10.0
LOG_LIMIT = 1_000_000
ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))
"""What Slack reads as mentions and links: a question that an agent wrote must call nobody."""


class MessageRefused(DamascusError):
    """A message that a target did not take; it is tried again later."""


class Target(Protocol):
    name: NoticeTarget

    def lacks(self) -> str:
        """Why this machine can't use it, in a sentence; "" where it can."""
        ...

    def send(self, message: Message) -> None:
        """Raises MessageRefused."""
        ...


@dataclass(frozen=True)
class CommandTarget:
    """A command of the project's people: the text on stdin, the rest in variables, no shell."""

    command: str
    environ: Mapping[str, str]
    folder: Path
    log: Path
    name = NoticeTarget.COMMAND

    def lacks(self) -> str:
        try:
            words = shlex.split(self.command)
        except ValueError as err:
            return f"[notify] command can't be split into words: {err}. Correct it."
        if not words:
            return "[notify] command is empty. Name a program, or remove it."
        beside = str(self.folder / words[0]) if "/" in words[0] else words[0]
        if not shutil.which(beside, path=self.environ.get("PATH")):
            return f"the program {words[0]} of [notify] command is not there or not executable."
        return ""

    def send(self, message: Message) -> None:
        told = {"KEY": message.key, "TITLE": message.title, "PROJECT": message.project}
        env = {**self.environ, **{f"DAMASCUS_NOTICE_{name}": value for name, value in told.items()}}
        self.log.parent.mkdir(parents=True, exist_ok=True)
        ended = process.run(
            shlex.split(self.command), cwd=self.folder, env=env, log=self.log, timeout=COMMAND_SECONDS,
            stdin=message.text.encode(), log_limit=LOG_LIMIT,
        )  # fmt: skip
        if ended.timed_out:
            raise MessageRefused(f"[notify] command did not end within {COMMAND_SECONDS:g} s")
        if ended.exit_code != 0:
            last = ended.tail.strip().splitlines()[-1:] or ["it said nothing"]
            raise MessageRefused(f"[notify] command ended with exit code {ended.exit_code}: {last[0][:200]}")


@dataclass(frozen=True)
class WebhookTarget:
    """One POST of `{"text": …}`, which Slack and those that are like it take as it is."""

    variable: str
    secret_variable: str
    environ: Mapping[str, str]
    name = NoticeTarget.WEBHOOK

    def lacks(self) -> str:
        address = self.environ.get(self.variable, "")
        if not address:
            return f"{self.variable}, which [notify] webhook_env names, is not set here."
        return "" if address.startswith(("https://", "http://")) else f"{self.variable} holds no address of the web."

    def send(self, message: Message) -> None:
        body = json.dumps({"text": for_slack(message.text)}).encode()
        address = self.environ[self.variable]
        try:
            with httpx.Client(timeout=WEBHOOK_SECONDS, follow_redirects=False) as client:
                with client.stream("POST", address, content=body, headers=self._headers(message, body)) as answer:
                    status = answer.status_code  # its words are not read: they may be of any length
        except (httpx.HTTPError, httpx.InvalidURL) as err:
            raise MessageRefused(f"the webhook could not be reached: {type(err).__name__}") from None
        if not 200 <= status < 300:
            raise MessageRefused(f"the webhook answered HTTP {status}")

    def _headers(self, message: Message, body: bytes) -> dict[str, str]:
        at = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "damascus",
            "Idempotency-Key": message.key,
            "X-Damascus-Key": message.key,
            "X-Damascus-Timestamp": at,
        }
        secret = self.environ.get(self.secret_variable, "")
        return headers | ({"X-Damascus-Signature": signature(secret, at, body)} if secret else {})


@dataclass(frozen=True)
class DesktopTarget:
    """notify-send of the worker's machine."""

    environ: Mapping[str, str]
    log: Path
    name = NoticeTarget.DESKTOP

    def lacks(self) -> str:
        if shutil.which("notify-send", path=self.environ.get("PATH")):
            return ""
        return "notify-send is not installed. Install it (Debian: libnotify-bin), or unset [notify] desktop."

    def send(self, message: Message) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        words = ["notify-send", "--app-name=damascus", "--", message.title, "\n".join(message.lines)]
        ended = process.run(
            words, cwd=self.log.parent, env=self.environ, log=self.log, timeout=COMMAND_SECONDS, log_limit=LOG_LIMIT
        )
        if ended.exit_code != 0:
            raise MessageRefused(f"notify-send ended with exit code {ended.exit_code}")


def targets(config: NotifyConfig, environ: Mapping[str, str], folder: Path, logs: Path) -> list[Target]:
    """Those that [notify] names. A relative command lies in `folder`."""
    made: dict[str, Target] = {
        NoticeTarget.COMMAND: CommandTarget(config.command, environ, folder, logs / "notify-command.log"),
        NoticeTarget.WEBHOOK: WebhookTarget(config.webhook_env, config.secret_env, environ),
        NoticeTarget.DESKTOP: DesktopTarget(environ, logs / "notify-desktop.log"),
    }
    return [made[name] for name in config.targets]


def signature(secret: str, at: str, body: bytes) -> str:
    """HMAC-SHA256 over time and body, so that an old message can't be played again."""
    return "sha256=" + hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def for_slack(text: str) -> str:
    for sign, written in ESCAPES:
        text = text.replace(sign, written)
    return text
