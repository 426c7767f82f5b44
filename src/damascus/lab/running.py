"""Plays many tales, each in a project of its own, on one embedded PostgreSQL that ends with them."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.app import App
from damascus.domain.errors import UsageError
from damascus.lab.catalogue import FAMILIES, HONEST
from damascus.lab.play import Played, play
from damascus.lab.tale import Tale

Chosen = tuple[str, Tale]
STACKS = ("python", "node", "go", "rust")


@dataclass(frozen=True)
class TaleChoice:
    """Empty means all."""

    names: Sequence[str] = ()
    family: str = ""
    stack: str = ""


def chosen(choice: TaleChoice) -> list[Chosen]:
    """What is chosen, in the order of the catalogue; a name that nothing has is an error."""
    families = {family.key: family for family in (*FAMILIES, HONEST)}
    if choice.family and choice.family not in families:
        raise UsageError(f"there is no family {choice.family!r}. There are: {', '.join(families)}.")
    if choice.stack and choice.stack not in STACKS:
        raise UsageError(f"there is no stack {choice.stack!r}. There are: {', '.join(STACKS)}.")
    wanted = [families[choice.family]] if choice.family else list(families.values())
    every = [(family.key, tale) for family in wanted for tale in family.tales]
    unknown = sorted(set(choice.names) - {tale.slug for _, tale in every})
    if unknown:
        raise UsageError(f"there is no {', '.join(unknown)} here. See them: damascus lab list")
    return [
        (key, tale)
        for key, tale in every
        if (not choice.names or tale.slug in choice.names) and choice.stack in ("", tale.stack)
    ]


def play_all(tales: Sequence[Chosen], agent: str = "", jobs: int = 2) -> Iterator[Played]:
    """As they end. `agent` is a command that plays the agent in each of them."""
    with database() as (folder, url), ThreadPoolExecutor(jobs, thread_name_prefix="lab") as pool:
        played = [
            pool.submit(play, key, tale, _own(folder, number), url, agent)
            for number, (key, tale) in enumerate(tales, start=1)
        ]
        try:
            for done in as_completed(played):
                yield done.result()
        finally:
            for left in played:
                left.cancel()


def _own(folder: Path, number: int) -> Path:
    return folder / f"case-{number}"


@contextmanager
def database() -> Iterator[tuple[Path, str]]:
    folder = Path(tempfile.mkdtemp(prefix="damascus-lab-"))
    environ = {key: value for key, value in os.environ.items() if not key.startswith("DAMASCUS_")}
    app = App(environ | {"DAMASCUS_HOME": str(folder / "home")})
    assert app.server is not None
    try:
        app.server.ensure_running()
        app.database.close()
        yield folder, app.server.url()
    finally:
        app.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
