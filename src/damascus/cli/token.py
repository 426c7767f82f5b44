"""damascus token: what a program shows to the API and to MCP."""

from typing import Annotated

import typer

from damascus.cli.opened import opened, person_in
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, tell
from damascus.cli.tables import table
from damascus.people import tokens
from damascus.store.tokens import TokenRow
from damascus.telling.phrases import plain

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Tokens for programs: the API and MCP.")
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("new", short_help="Make one; it is shown once.")
def new(
    scope: Annotated[str, typer.Option("--scope", metavar="read|act", help="read: look; act: also answer, retry, …")],
    name: Annotated[str, typer.Option("--name", metavar="WORDS", help="Which program it is for.")] = "",
    days: Annotated[
        int | None, typer.Option("--expires", metavar="DAYS", help="Worth nothing after so many days.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a token for a program (docs/api.md). It is shown once: only a hash of it is kept.

    \b
    Example:  damascus token new --scope read --name grafana --expires 90
    """
    db, project = opened()
    done = tokens.new(db, project, scope, person_in(project), name=name, days=days)
    if as_json:
        print_json({**tokens.published(done.row), "token": done.token})
        return
    tell(done)


@app.command("list", short_help="Which there are.")
def list_(as_json: Json = False) -> None:
    """Which tokens there are, what they may do, and until when. None of them can be shown again.

    \b
    Example:  damascus token list
    """
    found = tokens.listed(*opened())
    if as_json:
        print_json({"tokens": [tokens.published(row) for row in found]})
        return
    if found:
        head = ("token", "name", "may", "made", "by", "until")
        for line in table(head, [_cells(row) for row in found], shrink=(1, 4), lead=0):
            say(line)
    else:
        say("There is no token.")
    next_step("damascus token new --scope read" if not found else "damascus token revoke TOKEN")


def _cells(row: TokenRow) -> tuple[str, ...]:
    if row.revoked_at is not None:
        until = f"revoked {row.revoked_at.astimezone():%Y-%m-%d}"
    elif row.expires_at is None:
        until = "it is revoked"
    else:
        until = f"{row.expires_at.astimezone():%Y-%m-%d}" + ("" if row.valid else ", expired")
    made = f"{row.made_at.astimezone():%Y-%m-%d}"
    return str(row.id), plain(row.name), row.scope, made, plain(row.made_by), until


@app.command("revoke", short_help="Make one worth nothing.")
def revoke(number: Annotated[int, typer.Argument(metavar="TOKEN", min=1, help="Its number.")]) -> None:
    """Make a token worth nothing, from the next request on.

    \b
    Example:  damascus token revoke 3
    """
    tell(tokens.revoke(*opened(), number))
