"""What may be said about main: asked of git at this moment (engine/on_main.py), never of a row alone."""

from dataclasses import replace

from damascus.app import App, Project
from damascus.domain.ids import Sha, short
from damascus.engine.on_main import Main, last_look
from damascus.store import projects
from damascus.store.views import StoryRow

NAMED = 10


def not_on_main(app: App, project: Project) -> dict[str, str]:
    """The project's done stories that main lacks, each with its commit; of the repositories that this host has."""
    missing: dict[str, str] = {}
    for one in app.repositories(project):
        missing |= _missing(app, one)
    return missing


def last_known_missing(app: App, project: Project) -> dict[str, str]:
    """The same, as the last look found it: for pages, which may not count what is done or wait for git."""
    rows = projects.repositories(app.database, project.row.uuid)
    return {name: sha for row in rows for name, sha in last_look(app.folder_of(row)).missing.items()}


def _missing(app: App, project: Project) -> dict[str, str]:
    """Main of the user's own repository; of a forge as it was when we last looked, which `run` does."""
    branch = project.row.main_branch
    if project.here is not None and project.is_local:
        here = project.here
        return Main(
            app.database, project.row, project.folder, here.git, lambda: project.mirror, lambda: here.tip(branch)
        ).missing()
    mirror = project.mirror
    if mirror.main(branch) is None:
        return {}
    return Main(
        app.database, project.row, project.folder, mirror.git, lambda: mirror, lambda: Sha(mirror.main(branch) or "")
    ).missing()


def main_tip(project: Project) -> Sha:
    """Main where stories land: on a forge as it was when we last looked, which `run` does all the time. The folder's
    own main may be days behind that."""
    branch = project.row.main_branch
    there = project.mirror.main(branch) if project.row.forge is not None else None
    return there or project.repository.tip(branch)


def marked(row: StoryRow, missing: dict[str, str]) -> StoryRow:
    """The row of a story that main lacks says so."""
    return replace(row, off_main=True) if row.story_id in missing else row


def told(missing: dict[str, str], branch: str) -> str:
    """`2 done but not on main: S-1 (3f2a91c), S-2 (9b1c0de)`"""
    named = ", ".join(f"{name} ({short(commit)})" for name, commit in sorted(missing.items())[:NAMED])
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"{len(missing)} done but not on {branch}: {named}{more}"
