"""[notify] of damascus.toml: who is told without looking, of what, and when."""

from typing import Literal

from pydantic import Field

from damascus.domain.config_section import Section

TellableAbout = Literal["needs_you", "done", "halted", "budget"]
"""What a message may be about (domain/notices.py)."""


class NotifyConfig(Section):
    """[notify]"""

    on: list[TellableAbout] = Field(
        default=["needs_you", "done", "halted", "budget"],
        description="What people are told of: needs_you, done, halted, budget",
    )
    command: str = Field(
        "",
        description="Command that is given each message on its stdin, split like shell words, no shell; default: none",
    )
    webhook_env: str = Field(
        "",
        pattern=r"^[A-Za-z_]\w*$|^$",
        description="Name of the variable that holds the address which each message is posted to; default: none",
    )
    secret_env: str = Field(
        "DAMASCUS_NOTIFY_SECRET",
        pattern=r"^[A-Za-z_]\w*$",
        description="Name of the variable that holds the secret which messages to the webhook are signed with",
    )
    desktop: bool = Field(False, description="Show each message by notify-send on the machine of the worker")
    batch_seconds: float = Field(
        30.0, ge=0, le=3600, description="What happens within so many seconds is one message; 0: each is its own"
    )
    quiet: str = Field(
        "",
        pattern=r"^$|^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$",
        description="Hours in which nothing is sent, as `22:00-07:00`; what happened then is one message afterwards",
    )
    time_zone: str = Field("", description="Of the quiet hours, as `Europe/Berlin`; default: the worker's own")

    @property
    def targets(self) -> tuple[str, ...]:
        """Where messages go; none: nobody is told, and nothing is read for it."""
        asked = {"command": self.command.strip(), "webhook": self.webhook_env, "desktop": self.desktop}
        return tuple(name for name, value in asked.items() if value) if self.on else ()
