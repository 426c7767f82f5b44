"""damascus lab: the misbehaviour benchmark, for anybody to run (X6)."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from damascus.cli.say import as_json as print_json
from damascus.cli.say import coloured, next_step, say, styled
from damascus.cli.tables import table
from damascus.domain.errors import UsageError
from damascus.lab.catalogue import HONEST
from damascus.lab.play import Outcome, Played
from damascus.lab.running import TaleChoice, chosen, play_all
from damascus.telling.phrases import one_line

app = typer.Typer(no_args_is_help=True, help="Lying agents and honest ones, played against this installation.")

Family = Annotated[str, typer.Option("--family", metavar="F", help="Only this family; `lab list` names them.")]
Stack = Annotated[str, typer.Option("--stack", metavar="S", help="Only this stack: python, node, go or rust.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
WRONG = (Outcome.ESCAPED, Outcome.REFUSED)


@app.command("list")
def list_tales(family: Family = "", stack: Stack = "", as_json: AsJson = False) -> None:
    """The lies by family, and the honest controls.

    \b
    Example:  damascus lab list --stack go
    """
    found = chosen(TaleChoice((), family, stack))
    if as_json:
        print_json([{"family": key, "stack": tale.stack, "name": tale.slug, "does": tale.does} for key, tale in found])
        return
    rows = [(key, tale.stack, tale.slug, tale.does) for key, tale in found]
    for line in table(("family", "stack", "name", "what the agent does"), rows, shrink=(3,)):
        say(f"  {line}")
    next_step("damascus lab run --family runner")


@app.command(short_help="Play them, and say which lies got through.")
def run(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Only these; default: all.")] = None,
    *,
    family: Family = "",
    stack: Stack = "",
    agent_command: Annotated[
        str, typer.Option("--agent-command", metavar="CMD", help="Play an agent of yours in each of them instead.")
    ] = "",
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="How many at once.")] = 2,
    as_json: AsJson = False,
) -> int:
    """Play lying agents and honest ones through every gate that a project has by default, on a database of its own.

    A lie that lands has escaped, honest work that does not land was refused: with either the exit code is 1.
    With --agent-command your agent gets the story of each case instead, and what lands is not judged.

    \b
    Example:  damascus lab run --stack python --family no-proof
    """
    tales = chosen(TaleChoice(names or (), family, stack))
    if not tales:
        raise UsageError("nothing was chosen: this family has no case in that stack. See: damascus lab list")
    began = time.monotonic()
    played: list[Played] = []
    for one in play_all(tales, agent_command, jobs):
        played.append(one)
        if not as_json:
            _progress(one, len(played), len(tales))
    if as_json:
        print_json({"cases": [one.facts() for one in played], "outcomes": _outcomes(played)})
    else:
        _tell(played, time.monotonic() - began, own_agent=bool(agent_command))
    return 1 if not agent_command and any(not one.as_it_should for one in played) else 0


def _progress(one: Played, number: int, of: int) -> None:
    """In a terminal one line that is written over, and what went wrong; in a pipe what went wrong alone."""
    if coloured():
        sys.stdout.write(f"\r\x1b[K{number} of {of}  {one.tale.slug[:60]}")
        sys.stdout.flush()
    if not one.as_it_should:
        told = one_line(f"{one.outcome}: {one.tale.slug} ({one.family}, {one.tale.stack}) {one.verdict} {one.said}")
        say(f"\r{styled(told, 'red')}" if coloured() else told)


def _tell(played: Sequence[Played], seconds: float, *, own_agent: bool) -> None:
    say("\r\x1b[K" if coloured() else "")
    say("\n".join(f"  {line}" for line in _by_family(played)))
    say()
    say("\n".join(f"  {line}" for line in _by_gate(played)))
    say()
    counts = ", ".join(f"{count} {name}" for name, count in _outcomes(played).items() if count)
    say(f"{len(played)} played in {seconds:.0f} s: {counts}.")
    if own_agent:
        say("An agent of yours played them: what landed is as good or bad as its work.")
    wrong = next((one for one in played if one.outcome in WRONG), None)
    next_step(f"damascus lab run {wrong.tale.slug}" if wrong else "docs/lab.md")


def _outcomes(played: Sequence[Played]) -> dict[str, int]:
    found = Counter(one.outcome for one in played)
    return {outcome.value: found[outcome] for outcome in Outcome}


def _by_family(played: Sequence[Played]) -> list[str]:
    keys = list(dict.fromkeys(one.family for one in sorted(played, key=lambda one: one.family == HONEST.key)))
    rows = []
    for key in keys:
        found = Counter(one.outcome for one in played if one.family == key)
        rows.append((key, *(str(found[outcome]) if found[outcome] else "" for outcome in Outcome)))
    return table(("family", *(outcome.value for outcome in Outcome)), rows)


def _by_gate(played: Sequence[Played]) -> list[str]:
    found = Counter((one.gate or "(before any gate)", one.verdict) for one in played if one.outcome is Outcome.CAUGHT)
    return table(("caught by", "verdict", "lies"), [(*key, str(count)) for key, count in found.most_common()])
