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

    @property
    def text(self) -> str:
        variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in self.settings.items())
        return f"""\
# Written by `damascus service install`; `damascus service remove` takes it away.
[Unit]
Description=Damascus, project {_plain(self.project)}
After=network-online.target
StartLimitIntervalSec=600
StartLimitBurst=10

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
RestartSec=5
# 1: a story is blocked, or this release is older than the database; 2: wrong use. Starting again would change neither.
RestartPreventExitStatus=1 2
UMask=0077

[Install]
WantedBy=default.target
"""


def slug(name: str) -> str:
    return NAME.sub("-", name).strip("-.") or "project"


def _quoted(word: str) -> str:
    """One word for systemd: quotes, backslashes and its own percent signs are meant as they are."""
    return '"' + _plain(word).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(text: str) -> str:
    return " ".join(text.split("\n")).replace("%", "%%")
