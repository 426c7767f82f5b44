"""Which of a project's repositories this host works, and what their mains say of each other."""

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.domain.graph import Declared
from damascus.store import graph


def declare_graph(app: App, repositories: list[Project]) -> None:
    """What each main says of the graph is taken over, or refused with one sentence."""
    said = [
        Declared(one.row.repo_id, c.project.name or one.row.repo, tuple(c.repo.needs), c.repo.max_workers)
        for one in repositories
        if one.settings.on_main and (c := one.config)
    ]
    graph.declare(app.database, repositories[0].row.id, said)


def worked_here(app: App, project: Project) -> tuple[list[Project], list[str]]:
    """The repositories that a worker of this host works: it has them and all that they need, and their rules are on
    main. And why it does not work the rest."""
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
