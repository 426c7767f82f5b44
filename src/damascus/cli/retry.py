"""damascus retry: a new run and a new budget."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import tell
from damascus.domain.errors import UsageError
from damascus.people import stories

Story = Annotated[str | None, typer.Argument(metavar="[STORY]", help="The story's id.")]
Hint = Annotated[str, typer.Option("--with", metavar="WORDS", help="Told to the next agent.")]
Every = Annotated[bool, typer.Option("--all", help="Every blocked story, once a common cause is fixed.")]
Last = Annotated[
    str, typer.Option("--verdict", metavar="VERDICT", help="With --all: only those with this last verdict.")
]


def retry(story: Story = None, hint: Hint = "", every: Every = False, verdict: Last = "") -> None:
    """Give a story that is not finished a new run and a new budget of tries.

    \b
    Example:  damascus retry S-19
              damascus retry S-19 --with "the parser is in lib/, not in src/"
              damascus retry --all --verdict agent_failed
    """
    if every == (story is not None) or (verdict and not every):
        raise UsageError("name one story, or all that are blocked: damascus retry S-19, damascus retry --all")
    db, project = opened()
    tell(stories.retry_all(db, project, verdict, hint) if story is None else stories.retry(db, project, story, hint))
