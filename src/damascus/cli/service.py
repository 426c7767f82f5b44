"""damascus service: this project as a service of your own systemd."""

from typing import Annotated

import typer

from damascus.app import App
from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import tell
from damascus.domain.systemd_unit import Unit
from damascus.people import as_service

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="This project as a service of your own systemd.")


def _unit(options: tuple[str, ...] = ()) -> tuple[App, Unit]:
    opened = open_app()
    return opened, as_service.unit_of(opened, open_project(opened), options)


@app.command("install", short_help="Write the systemd user unit that runs `damascus up`.")
def install(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the window.")] = 8420,
    slots: Annotated[int | None, typer.Option("--slots", min=1, help="Stories worked at once.")] = None,
    *,
    only_print: Annotated[bool, typer.Option("--print", help="Show the unit, and write nothing.")] = False,
    enable: Annotated[bool, typer.Option("--enable", help="Enable and start it, too.")] = False,
) -> None:
    """Write a systemd user unit that runs `damascus up` in this folder. Nothing is started without --enable.

    Keys do not go into it: it reads them from a file of your own, which it names.

    \b
    Example:  damascus service install --print
    """
    more = ("--slots", str(slots)) if slots else ()
    opened, unit = _unit(("--port", str(port), *more))
    if only_print:
        print(unit.text, end="")
        return
    tell(as_service.install(opened, unit, enable=enable))


@app.command("remove", short_help="Stop and disable it, and remove its unit.")
def remove() -> None:
    """Stop and disable the service, and remove its unit. Stories, database and settings stay.

    \b
    Example:  damascus service remove
    """
    tell(as_service.remove(*_unit()))


@app.command("status", short_help="Is it installed, enabled, running?")
def status(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """Is it installed, enabled, running? Exit code 1 if it does not run.

    \b
    Example:  damascus service status
    """
    found = as_service.standing(*_unit())
    if as_json:
        print_json(found.published())
    else:
        tell(found)
    return int(found.active != "active")
