"""damascus retry: a new run and a new budget."""

from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.store.db import Database


Story = Annotated[str | None, typer.Argument(metavar="[STORY]", help="The story's id.")]
Hint = Annotated[str, typer.Option("--with", metavar="WORDS", help="Told to the next agent.")]
Every = Annotated[bool, typer.Option("--all", help="Every blocked story, after a common cause was mended.")]
Last = Annotated[str, typer.Option("--verdict", metavar="VERDICT", help="With --all: only those whose last one it is.")]


def retry(story: Story = None, hint: Hint = "", every: Every = False, verdict: Last = "") -> None:
    """Give a story that is not finished a new run and a new budget of tries.

    \b
    Example:  damascus retry S-19
              damascus retry S-19 --with "the parser is in lib/, not in src/"
              damascus retry --all --verdict agent_failed
    """
    from damascus.store import people

    if every == (story is not None) or (verdict and not every):
        raise UsageError("name one story, or all that are blocked: damascus retry S-19, damascus retry --all")
    db, project = opened()
    if every:
        _retry_all(db, project, verdict, hint)
        return
    assert story is not None
    acted = people.retry(db, project.row.id, story, hint or None)
    taken = " It was taken from the worker that had it." if acted.was_leased else ""
    say(f"{acted.story_id} goes on in phase {acted.phase} with a new budget.{taken}")
    next_step(f"damascus run, or if one runs: damascus why {acted.story_id}")


def _retry_all(db: "Database", project: "Project", verdict: str, hint: str) -> None:
    from damascus.domain.verdict import Verdict
    from damascus.store import people

    known = [one.value for one in Verdict]
    if verdict and verdict not in known:
        raise UsageError(f"there is no verdict {verdict!r}. There are: {', '.join(known)}")
    found = db.all("blocked_stories", project=project.row.id, verdict=verdict)
    if not found:
        raise DamascusError("no story is blocked" + (f" after {verdict}" if verdict else "") + ". See: damascus status")
    for row in found:
        people.retry(db, project.row.id, row["story_id"], hint or None)
    say(f"{len(found)} go on with a new budget: {', '.join(row['story_id'] for row in found)}.")
    next_step("damascus run, or if one runs: damascus status")
