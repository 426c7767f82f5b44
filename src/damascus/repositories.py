"""The repositories of a project on this host: where each lies."""

from collections.abc import Mapping
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.git.repository import Repository
from damascus.store.projects import ProjectRow

PLACE = "repository"
"""The file in a repository's data folder that says where its folder is on this host: others may have it elsewhere."""


def remember_place(folder: Path, top: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PLACE).write_text(f"{top}\n", "utf-8")


def known_home(start: Path, environ: Mapping[str, str]) -> Path | None:
    """The data folder that the git config of this folder's repository names. DAMASCUS_HOME wins; None: nothing does."""
    if environ.get("DAMASCUS_HOME"):
        return None

    try:
        repository = Repository.discover(start)
    except DamascusError:
        return None
    named = repository.data_folder()
    if named is None:
        return None
    elsewhere = f"Set DAMASCUS_HOME to where it is, or begin anew: {repository.forget_command} && damascus init"
    if not named.is_dir():
        raise DamascusError(f"the data folder of {repository.top} is {named}, which does not exist. {elsewhere}")
    if not environ.get("DAMASCUS_DATABASE_URL") and not (named / "postgres").is_dir():
        raise DamascusError(
            f"the data folder of {repository.top} is {named}, and its database is not in it. Set DAMASCUS_DATABASE_URL "
            f"to the database that you used. {elsewhere}"
        )
    return named


def _places(folder: Path, known: str) -> list[Path]:
    """Where a repository may be on this host: as it was opened here last, then as the database has it."""
    try:
        here = (folder / PLACE).read_text("utf-8").strip()
    except OSError:
        here = ""
    return [Path(place) for place in dict.fromkeys((here, known)) if place]


def place_of(folder: Path, row: ProjectRow) -> Path | None:
    """Its folder on this host: the one whose git config says that it is this repository."""
    return next((place for place in _places(folder, row.path) if _is_in(place, row)), None)


def _is_in(place: Path, row: ProjectRow) -> bool:
    try:
        return place.is_dir() and Repository.discover(place).identity()[1] == row.repo_uuid
    except DamascusError:
        return False
