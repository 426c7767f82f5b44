"""The text of a systemd user unit that runs `damascus up` for one project. Pure; no key is ever in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Unit:
    """`words` are the command's, `settings` variables that are no secrets."""

    project: str
    folder: str
    words: Sequence[str]
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"damascus-{slug(self.project)}.service"

    @property
    def secrets(self) -> str:
        """The file with the keys, below the person's configuration folder."""
        return f"damascus/{slug(self.project)}.env"

    def is_as_written(self, text: str) -> bool:
        """Is that text this unit, whatever port and slots it was written with?"""
        return _without_command(text) == _without_command(self.text)

    @property
    def text(self) -> str:
        variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in self.settings.items())
        return f"""\
# Written by `damascus service install`; `damascus service remove` takes it away.
[Unit]
Description=Damascus, project {_plain(self.project)}
After=network-online.target
# However long the database or the network takes after a boot.
StartLimitIntervalSec=0

[Service]
Type=exec
WorkingDirectory={_plain(self.folder)}
ExecStart={" ".join(_quoted(word.replace("$", "$$")) for word in self.words)}
{variables}# Keys and DAMASCUS_DATABASE_URL: a file of your own, mode 0600, one NAME=value a line.
EnvironmentFile=-%E/{self.secrets}
# The first signal stops agents and saves their work. The embedded database outlives the service: others may use it.
KillMode=process
TimeoutStopSec=60
Restart=on-failure
RestartSec=30
# 130: stopped by a signal, as asked; 2: wrong use, which starting again would not change.
SuccessExitStatus=130
RestartPreventExitStatus=2
UMask=0077

[Install]
WantedBy=default.target
"""


def _without_command(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("ExecStart=")]


def slug(name: str) -> str:
    return NAME.sub("-", name).strip("-.") or "project"


def _quoted(word: str) -> str:
    """One word for systemd: quotes, backslashes and its own percent signs are meant as they are."""
    return '"' + _plain(word).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(text: str) -> str:
    return " ".join(text.split("\n")).replace("%", "%%")
