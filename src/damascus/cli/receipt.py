"""damascus receipt: what is proved of a story, for people and for programs."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped
from damascus.domain.ids import short
from damascus.people.receipts import receipt_of_story
from damascus.store import receipts
from damascus.telling.receipt import page


class StoryOrVerb(TyperGroup):
    """`receipt S-21` is `receipt show S-21`: what is no verb of ours is a story."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = [word for word in args if not word.startswith("-")]
        if words and words[0] not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=StoryOrVerb,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="What is proved of a story: `damascus receipt S-21`; export it, verify it, sign it.",
)
Story = Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]


@app.command("show", short_help="A story's receipt; `receipt STORY` is the same.")
def show(
    story: Story,
    as_json: Annotated[bool, typer.Option("--json", help="The receipt itself: build_receipt.json.")] = False,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="All evidence of its last attempt as JSON: gates, steps, CI, landing.")
    ] = False,
) -> None:
    """How far each requirement, the tests and the code are proved, by what, and what is not.

    \b
    Example:  damascus receipt S-21
    """
    db, project = opened()
    if evidence:
        print_json(receipts.evidence(db, project.row, story))
        return
    found = receipt_of_story(db, project.row, story)
    if as_json:
        print_json(found.receipt.model_dump(mode="json"))
        return
    for line in page(found.receipt, found.landed):
        say(wrapped(line, " " * 13) if line else "")
    next_step(f"damascus receipt verify {short(found.receipt.proof.commit)}, damascus receipt {story} --evidence")
