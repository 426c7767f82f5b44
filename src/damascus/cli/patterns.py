"""damascus patterns: the library that agents are shown, and decisions that may become part of it."""

from typing import Annotated

import typer

from damascus.cli.opened import opened, person_in
from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, next_step, say, tell, wrapped
from damascus.people import patterns
from damascus.telling.phrases import plain

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="The pattern library: search it, add to it.")
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("search", short_help="Which patterns of main fit these words.")
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="A domain, a stack, what it is about.")],
    as_json: Json = False,
) -> None:
    """Which patterns of the library on main fit these words, best first: as an agent would be offered them.

    \b
    Example:  damascus patterns search auth session
    """
    _, project = opened()
    found = patterns.find(project, words)
    if as_json:
        print_json(found.published())
        return
    for fault in found.faults:
        aside("note", fault)
    for match in found.matches:
        say(wrapped(plain(match.pattern.name), "  ", first=""))
        if told := match.pattern.told("pattern") or ", ".join(match.pattern.keywords):
            say(wrapped(plain(told), "    "))
    if not found.matches:
        say("No pattern fits.")
    next_step("damascus patterns candidates")


@app.command("candidates", short_help="Decisions that name a pattern.")
def candidates(as_json: Json = False) -> None:
    """Decisions of agents that name a pattern, and that nobody has made one yet.

    \b
    Example:  damascus patterns candidates
    """
    found = patterns.candidates(*opened())
    if as_json:
        print_json({"candidates": [{**row, "decision_id": f"DECISION-{row['number']:03d}"} for row in found]})
        return
    for row in found:
        say(wrapped(plain(f"DECISION-{row['number']:03d} of {row['story_id']}: {row['title']}"), "  ", first=""))
        say(wrapped(plain(row["pattern"]), "    "))
    if not found:
        say("No decision waits to become a pattern.")
    first = f"damascus patterns accept DECISION-{found[0]['number']:03d}" if found else "damascus status"
    next_step(first)


@app.command("accept", short_help="Make a decision a pattern.")
def accept(
    decision: Annotated[str, typer.Argument(metavar="DECISION", help="Its id, as in DECISIONS.md.")],
    as_id: Annotated[str, typer.Option("--as", metavar="PATTERN", help="Its id. Default: the next free one.")] = "",
    as_json: Json = False,
) -> None:
    """Make a decision a pattern: its entry and its line of the index are written into your folder, for you to commit.

    \b
    Example:  damascus patterns accept DECISION-007 --as PATTERN-012
    """
    db, project = opened()
    done = patterns.accept(db, project, decision, person_in(project), as_id)
    if as_json:
        print_json({"pattern": done.pattern, "decision": done.decision, "files": list(done.files)})
        return
    tell(done)
