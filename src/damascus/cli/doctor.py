"""damascus doctor: is everything there that a story needs, and what to do if not."""

from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.checks import report
from damascus.cli.opened import open_app
from damascus.lab.planted import planted
from damascus.people.checkup import examine


def doctor(
    test: Annotated[
        bool, typer.Option("--test", help="Run everything that a story will run, once, on a clean checkout of main.")
    ] = False,
    gates: Annotated[
        bool, typer.Option("--gates", help="Plant known defects in a throw-away clone: which gates see them?")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Check git, database, repository, settings, forge, agent and gateway, sandbox, disk and background services.

    Says what to do. With --test also runs set-up, suite, gate commands and CI jobs. With --gates it does none of this:
    it plants a secret, a file out of scope, an emptied test and a hollowed function, each as a story in a clone of this
    project, and names every defect that no gate of this set-up sees. Exit code 1 if something fails.

    \b
    Example:  damascus doctor --test
    """
    if gates:
        project = open_app().project(Path.cwd())
        seen = list(planted(project.repository.git_dir, project.row.main_branch, project.config))
        return report(seen, {}, "damascus doctor --gates", "damascus add SPEC…, then damascus run", as_json=as_json)
    ready = (
        "damascus add SPEC…, then damascus run" if test else "damascus doctor --test, which runs what stories will run"
    )
    found = list(examine(open_app(), Path.cwd(), test=test))
    return report(found, {}, "damascus doctor", ready, as_json=as_json)
