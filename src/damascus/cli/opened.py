"""What a command begins with: the app, the project of the current folder, its notice in one line."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.store.db import Database
    from damascus.store.views import Worker


def open_app() -> "App":
    from damascus.app import App

    return App(start=Path.cwd())


def open_project(app: "App") -> "Project":
    """The project of the current folder. What its config has to say goes to stderr: stdout may be JSON."""
    project = app.project(Path.cwd())
    if project.settings.notice:
        print(f"note: {project.settings.notice}", file=sys.stderr)
    return project


def opened() -> "tuple[Database, Project]":
    app = open_app()
    project = open_project(app)
    return app.database, project


def app_for(story: str) -> "tuple[App, Project]":
    """As `opened_for`, with the app itself."""
    app = open_app()
    return app, of_story(app, open_project(app), story)


def opened_for(story: str) -> "tuple[Database, Project]":
    """As `opened`, in the repository that the story belongs to: its files lie with that one."""
    app = open_app()
    project = open_project(app)
    return app.database, of_story(app, project, story)


def of_story(app: "App", project: "Project", story: str | None) -> "Project":
    row = app.database.one("repo_of_story", project=project.row.id, story=story) if story else None
    return app.beside(project, row["repo_id"]) if row else project


def locks_folder(app: "App") -> Path:
    """Where the workers of this host hold their locks."""
    return app.home / "workers"


def living(app: "App", workers: "list[Worker]") -> "list[Worker]":
    """Those that are not proved dead. Of another host's only its leases tell."""
    if not workers:
        return []
    from damascus.system.hostid import host_name, host_of, is_dead

    folder = locks_folder(app)

    def lives(worker: "Worker") -> bool:
        if host_of(worker.id) != host_name():
            return worker.renews is not False
        return not is_dead(folder, worker.id) and (bool(worker.renews) or _process_exists(worker.pid))

    return [worker for worker in workers if lives(worker)]


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
