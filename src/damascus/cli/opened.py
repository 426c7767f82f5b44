"""What a command begins with: the app, the project of the current folder, its notice in one line."""

import getpass
import os
import re
import subprocess
from pathlib import Path

from damascus.app import App, Project
from damascus.cli.say import aside
from damascus.people.acts import Actor
from damascus.people.places import repository_of
from damascus.store.db import Database


def open_app() -> App:
    return App(start=Path.cwd())


def open_project(app: App) -> Project:
    """The project of the current folder. What its config has to say goes to stderr: stdout may be JSON."""
    project = app.project(Path.cwd())
    if project.settings.notice:
        aside("note", project.settings.notice)
    return project


def opened() -> tuple[Database, Project]:
    app = open_app()
    project = open_project(app)
    return app.database, project


def app_for(story: str) -> tuple[App, Project]:
    """As `opened_for`, with the app itself."""
    app = open_app()
    return app, repository_of(app, open_project(app), story)


def opened_for(story: str) -> tuple[Database, Project]:
    """As `opened`, in the repository that the story belongs to: its files lie with that one."""
    app, project = app_for(story)
    return app.database, project


def person_in(project: Project) -> Actor:
    """Who types: as git knows the person in the project's folder, else as the machine does."""
    place = project.here.top if project.here is not None else Path.cwd()
    told = subprocess.run(["git", "var", "GIT_AUTHOR_IDENT"], cwd=place, capture_output=True, text=True, check=False)
    named = re.match(r"(.+ <.*>) \d+ [+-]\d+$", told.stdout.strip())
    if told.returncode == 0 and named:
        return Actor(named[1])
    try:
        return Actor(getpass.getuser())
    except (KeyError, OSError):  # a container's user that no list names
        return Actor(f"user {os.getuid()}")
