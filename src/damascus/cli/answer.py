"""damascus answer: a person decides."""

from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import tell
from damascus.domain.errors import UsageError
from damascus.people import answering

Words = Annotated[list[str], typer.Argument(metavar="N CHOICE|TEXT…", help="The question's number, then your answer.")]
Every = Annotated[bool, typer.Option("--all", help="The same answer to every question that offers it.")]
MOST_DIGITS = 1000


def answer(words: Words, every: Every = False) -> None:
    """Answer a question by an option's number or id, with words of your own if you like, or in your words alone.

    Words alone are never taken for an option: they are passed on to the next agent as they are.

    \b
    Example:  damascus answer 12 1
              damascus answer 12 2 use the Edit tool, not the shell
              damascus answer 12 look_again
              damascus answer 12 send_back name it parse, not read
              damascus answer 12 some_equivalent 2,3 the cache is only there for speed
              damascus answer --all 1
    """
    if not every and (not words[0].isdecimal() or len(words[0]) > MOST_DIGITS or len(words) < 2):
        raise UsageError("which question, and what answer? Write it like: damascus answer 12 1 (see: damascus inbox)")
    app = open_app()
    project = open_project(app)
    if every:
        tell(answering.answer_all(app, project, " ".join(words), person_in))
        return
    asked = answering.question(app, project, int(words[0]))
    tell(answering.answer(app, asked, " ".join(words[1:]), person_in(asked.project)))
