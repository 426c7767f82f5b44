"""A project on a host that has no folder of it: found in the database, its mirror made from the forge."""

from damascus.app import App, Project
from damascus.domain.config import parse_config
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.scope import SETTINGS_FILE
from damascus.forges import ForgeSetup, make_forge
from damascus.git.mirror import Mirror
from damascus.settings import Settings
from damascus.store import projects
from damascus.store.projects import ProjectRow


def far_project(app: App, wanted: str | None) -> Project:
    """By its name or uuid; without one the only one that every host reaches."""
    return opened(app, _row(app, wanted))


def opened(app: App, row: ProjectRow) -> Project:
    """With the config of main as the forge has it."""
    assert row.forge is not None
    folder = app.folder_of(row)
    known = {"kind": row.forge.kind, "url": row.forge.url, "token_env": row.forge.token_env}
    forge = parse_config("", app.environ).forge.model_copy(update=known)
    mirror = Mirror.open(folder / "mirror.git", forge.url)
    setup = ForgeSetup(mirror, None, row.main_branch, None, row.repo, forge, app.environ)
    found = mirror.read(make_forge(forge.kind, setup).main_tip(), SETTINGS_FILE)
    text, name = (found or b"").decode("utf-8", errors="replace"), f"{SETTINGS_FILE} on {row.main_branch}"
    settings = Settings(text, name, row.main_branch, found is not None, forge=row.forge, environ=app.environ)
    if settings.config.forge.kind == "local":
        raise DamascusError(f"{name} of {forge.url} no longer names a forge, so only its own folder can be worked.")
    return Project(row, None, folder, settings)


def _row(app: App, wanted: str | None) -> ProjectRow:
    if app.server is not None:
        raise UsageError(
            "a worker on any host needs a database that every host can reach. Set DAMASCUS_DATABASE_URL, or work "
            "in the project's folder: damascus run (docs/operations.md)"
        )
    known = projects.on_forges(app.database)
    found = [uuid for uuid, name in known if wanted in (None, name, str(uuid))]
    if not known:
        raise UsageError(
            "no project in this database is on a forge that every host can reach. Set [forge] kind and url in "
            "damascus.toml on main, and run any command in its folder: damascus status (docs/forges.md)"
        )
    if len(found) != 1:
        named = ", ".join(f"{name} ({uuid})" for uuid, name in known)
        raise UsageError(f"which project? Name one by --project, by its uuid if its name is not enough: {named}.")
    return next(row for row in projects.repositories(app.database, found[0]) if row.forge is not None)
