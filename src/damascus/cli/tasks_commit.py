"""damascus tasks commit: the files beside the task graph, as one commit on main."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import tell
from damascus.people import task_files


def commit(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Bring statuses, checkpoints, decisions, assumptions and the ownership map to main as one commit, through the
    queue. Your uncommitted words are no part of it.

    \b
    Example:  damascus tasks commit
    """
    done = task_files.commit(*opened())
    if as_json:
        print_json({"story": done.story, "files": list(done.files)})
        return
    tell(done)
