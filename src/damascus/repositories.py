"""The repositories of a project on this host: where each lies, what their mains say of each other, which are worked."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.app import App, Project
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
    from damascus.git.repository import Repository

    try:
        repository = Repository.discover(start)
    except DamascusError:
        return None
    named = repository.data_folder()
    if named is None:
        return None
    elsewhere = f"Set DAMASCUS_HOME to where it is, or begin anew: {repository.forget_command} && damascus init"
    if not named.is_dir():
        raise DamascusError(f"the data folder of {repository.top} is {named}, which is not there. {elsewhere}")
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


def place_of(folder: Path, row: "ProjectRow") -> Path | None:
    """Its folder on this host: the one whose git config says that it is this repository."""
    return next((place for place in _places(folder, row.path) if _is_in(place, row)), None)


def _is_in(place: Path, row: "ProjectRow") -> bool:
    from damascus.git.repository import Repository

    try:
        return place.is_dir() and Repository.discover(place).identity()[1] == row.repo_uuid
    except DamascusError:
        return False


def declare_graph(app: "App", repositories: "list[Project]") -> None:
    """What each main says of the graph is taken over, or refused with one sentence."""
    from damascus.domain.graph import Declared
    from damascus.store import graph

    said = [
        Declared(one.row.repo_id, c.project.name or one.row.repo, tuple(c.repo.needs), c.repo.max_workers)
        for one in repositories
        if one.settings.on_main and (c := one.config)
    ]
    graph.declare(app.database, repositories[0].row.id, said)


def worked_here(app: "App", project: "Project") -> "tuple[list[Project], list[str]]":
    """The repositories that a worker of this host works: it has them and all that they need, and their rules are on
    main. And why it does not work the rest."""
    from damascus.store import graph

    here = app.repositories(project)
    declare_graph(app, here)
    for one in here if len(here) > 1 else ():
        if one.here is not None and one.config.forge.kind == "local":  # on a forge the folder may be behind
            graph.saw_main(app.database, one.row.repo_id, one.here.tip(one.row.main_branch))
    net = graph.graph(app.database, project.row.id)
    known = {one.row.repo_id for one in here if one.settings.on_main or one is project}
    worked = [one for one in here if one.row.repo_id in known and net.above(one.row.repo_id) <= known]
    if project not in worked:
        missing = ", ".join(net.names[repo] for repo in sorted(net.above(project.row.repo_id) - known))
        raise DamascusError(
            f"{project.row.repo} needs {missing}, and this host has no such folder with its damascus.toml on main. "
            "Bring it here, or say where it is now by any command in its folder: damascus status"
        )
    left = [name for repo, name in net.names.items() if repo not in {one.row.repo_id for one in worked}]
    return worked, [f"{name} is not worked here: this host lacks it, or what it needs, on main." for name in left]
