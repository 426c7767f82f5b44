"""Where a story's files lie, which repository of the project is its own, and where the rules come from."""

from damascus.app import App, Project
from damascus.domain.errors import DamascusError


def repository_of(app: App, project: Project, story: str | None) -> Project:
    """The repository that the story belongs to; of a story that nobody knows, and of none, the one that is given."""
    row = app.database.one("repo_of_story", project=project.row.id, story=story) if story else None
    return app.beside(project, row["repo_id"]) if row else project


def refuse_config_off_main(project: Project) -> None:
    """The rules come from main: without damascus.toml there nothing is run."""
    if project.settings.on_main:
        return
    main = project.row.main_branch
    raise DamascusError(
        f"damascus.toml is not on {main} yet, and the rules come from {main}. Commit it there:\n"
        f"git switch {main} && git add damascus.toml && git commit -m 'Set up Damascus' -- damascus.toml"
    )
