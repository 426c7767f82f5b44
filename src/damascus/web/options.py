"""How the window is served."""

from dataclasses import dataclass

from damascus.people.acts import Actor

LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "::1")
BROWSER = "browser"
"""By what a person acts who uses the window."""

PROGRAM = "program"
"""By what a token acts."""

NOBODY_BY_NAME = Actor("whoever has the link", BROWSER)


@dataclass(frozen=True)
class Options:
    """`port` 0 takes a free one. `hosts` are further names that a browser may ask for, beside the loopback's and
    `listen`. `person` is who opened the window: whoever enters by its link acts by that name."""

    port: int = 8420
    listen: str = LOOPBACK
    read_only: bool = False
    hosts: tuple[str, ...] = ()
    person: Actor = NOBODY_BY_NAME
