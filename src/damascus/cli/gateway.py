"""damascus gateway: a model gateway of one's own, LiteLLM on loopback."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import open_app
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.domain.config import Models, parse_config
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.scope import SETTINGS_FILE
from damascus.gateway.litellm import process as litellm_process
from damascus.gateway.litellm.config import ModelSource, config_text, model_names, models_in, variables
from damascus.gateway.litellm.place import GatewayPlace, Running

PORT = 4000
app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

Upstream = Annotated[str, typer.Option("--upstream", metavar="URL", help="Where the models are.")]
KeyVariable = Annotated[
    str, typer.Option("--upstream-key-env", metavar="NAME", help="The variable that holds the provider's key.")
]
Provider = Annotated[
    str, typer.Option("--provider", metavar="API", help="What the provider speaks: openai, anthropic or hosted_vllm.")
]
Named = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME[=THEIRS]", help="Another model, or what the provider calls it."),
]


@app.callback()
def gateway(
    context: typer.Context,
    *,
    upstream: Upstream = "",
    upstream_key_env: KeyVariable = "",
    provider: Provider = "openai",
    model: Named = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port on loopback.")] = PORT,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running, until: damascus gateway stop")] = False,
) -> None:
    """A model gateway on this machine: LiteLLM, set up for your models and started. Ctrl-C ends it.

    With --upstream its config is written again; without it, the last one is used as it is.

    \b
    Example:  damascus gateway --upstream https://api.example.com/v1 --upstream-key-env EXAMPLE_API_KEY
    """
    if context.invoked_subcommand is not None:
        return

    place = _place()
    _refuse_second(place)
    if upstream or not place.config.exists():
        _write(place, upstream, upstream_key_env, provider, model or [])
    litellm_process.find_program(os.environ)
    _start(place, port, detach=detach)


@app.command("config")
def config(
    upstream: Upstream = "",
    upstream_key_env: KeyVariable = "",
    provider: Provider = "openai",
    model: Named = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Write the LiteLLM config, or say where it is.

    \b
    Example:  damascus gateway config --upstream http://127.0.0.1:8000/v1 --provider hosted_vllm
    """
    place = _place()
    if upstream or not place.config.exists():
        _write(place, upstream, upstream_key_env, provider, model or [])
    text = place.config.read_text()
    if as_json:
        print_json({"config": str(place.config), "models": models_in(text), "variables": variables(text)})
        return
    say(str(place.config))


@app.command("status")
def status(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """Whether our gateway is running, and where. Exit code 1 if not.

    \b
    Example:  damascus gateway status
    """
    place = _place()
    found = place.running()
    if as_json:
        who = {"url": found.url, "pid": found.pid} if found else {"url": None, "pid": None}
        print_json({"running": found is not None, **who, "config": str(place.config), "log": str(place.log)})
    elif found:
        say(f"The gateway runs at {found.url} (process {found.pid}). Log: {place.log}")
        next_step("damascus run, or damascus gateway stop")
    else:
        say("No gateway of ours runs.")
        next_step("damascus gateway")
    return 0 if found else 1


@app.command("stop")
def stop() -> None:
    """Stop the gateway.

    \b
    Example:  damascus gateway stop
    """
    place = _place()
    found = place.running()
    if found:
        litellm_process.end(found, place)
    say("The gateway is stopped." if found else "No gateway of ours was running.")


def _place() -> GatewayPlace:
    return GatewayPlace(open_app().home)


def _refuse_second(place: GatewayPlace) -> None:
    if found := place.running():
        raise DamascusError(f"a gateway is already running at {found.url}. Use it, or stop it: damascus gateway stop")


def _write(place: GatewayPlace, upstream: str, key_variable: str, provider: str, further: list[str]) -> None:
    if not upstream:
        raise UsageError(
            "say where the models are: damascus gateway --upstream https://api.example.com/v1 "
            "--upstream-key-env EXAMPLE_API_KEY"
        )
    text = config_text(ModelSource(upstream, key_variable, provider), model_names(_models(), further))
    place.make()
    if place.config.exists() and place.config.read_text() != text:
        place.config.replace(place.config.with_suffix(".yaml.old"))
    place.write_private(place.config, text)


def _models() -> Models:
    """Of the project of the current folder; outside of one the defaults."""
    here = Path.cwd()
    file = next(
        (folder / SETTINGS_FILE for folder in (here, *here.parents) if (folder / SETTINGS_FILE).is_file()), None
    )
    return parse_config(file.read_text("utf-8") if file else "", os.environ).models


def _start(place: GatewayPlace, port: int, *, detach: bool) -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    url, waiting = f"http://127.0.0.1:{port}", _Waiting()
    started = litellm_process.start(place, port, os.environ)
    running = Running.of(started.pid, url)
    left_running = False
    try:
        seconds = litellm_process.wait_until_ready(started, place, url, waiting.tick)
        waiting.over()
        _say_it_runs(place, running, seconds, detach=detach)
        left_running = detach
        if not detach:
            code = started.wait()
            raise DamascusError(f"LiteLLM exited with code {code}: {litellm_process.last_line(place)}")
    except KeyboardInterrupt:
        waiting.over()
        say("The gateway is stopped.")
    finally:
        if not left_running:
            litellm_process.end(running, place)
        signal.signal(signal.SIGTERM, before)


def _say_it_runs(place: GatewayPlace, running: Running, seconds: float, *, detach: bool) -> None:
    models = ", ".join(models_in(place.config.read_text()))
    say(f"The gateway answers at {running.url} with {models}, ready in {seconds:.0f} s. Log: {place.log}")
    say()
    say(f"  export ANTHROPIC_BASE_URL={running.url}")
    say(f'  export ANTHROPIC_AUTH_TOKEN="$(cat {place.key_file})"   # {place.key()[:6]}…')
    say()
    say("Damascus on this machine needs neither: it finds the gateway and its key by itself.")
    next_step("damascus run; end the gateway with: damascus gateway stop" if detach
              else "damascus run in another terminal; Ctrl-C here ends the gateway")  # fmt: skip
    sys.stdout.flush()


class _Waiting:
    """One line at a terminal that counts the seconds; through a pipe it is said once."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._said = False

    def tick(self, seconds: float) -> None:
        if self._live:
            print(f"\rLiteLLM starts, which takes some 20 s: {seconds:.0f} s", end="", flush=True)
        elif not self._said:
            print("LiteLLM starts, which takes some 20 s …", flush=True)
        self._said = True

    def over(self) -> None:
        if self._live and self._said:
            print("\r\x1b[K", end="", flush=True)
        self._said = False
