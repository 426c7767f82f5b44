"""damascus gateway: its config, its start and its end. In LiteLLM's place a small server, so that it starts at once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from damascus.gateway.bridge import GatewayBridge
from damascus.gateway.litellm.place import GatewayPlace, Running
from damascus.system import procfs
from damascus.system.installing import install
from tests.agents.upstream import free_port
from tests.cli.conftest import Cli
from tests.waiting import eventually

STAND_IN = f"""#!{sys.executable}
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
json.dump({{"argv": sys.argv, "environ": dict(os.environ), "cwd": os.getcwd()}}, open("seen.json", "w"))
if os.path.exists("../broken"):
    sys.exit("the config has a hole")
class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health/liveliness" else 404)
        self.end_headers()
HTTPServer((given["--host"], int(given["--port"])), Answers).serve_forever()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder of the test's own, no repository around, and a program called litellm on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "litellm").write_text(STAND_IN)
    (programs / "litellm").chmod(0o755)
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "home"
    if found := GatewayPlace(tmp_path / "home").running():
        os.killpg(found.pid, signal.SIGKILL)


UPSTREAM = ("--upstream", "https://api.example.com/v1", "--upstream-key-env", "EXAMPLE_KEY")


@pytest.mark.req("D5")
def test_the_config_holds_what_experience_taught_and_no_secret(
    home: Path, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_KEY", "sk-example-4711")
    ran = command("gateway", "config", *UPSTREAM, "--model", "big=vendor/Big-1")
    assert (ran.code, ran.out.strip()) == (0, str(home / "gateway" / "litellm.yaml")), ran.err
    text = Path(ran.out.strip()).read_text()
    config = yaml.safe_load(text)
    models = {each["model_name"]: each["litellm_params"] for each in config["model_list"]}
    assert {name: each["model"] for name, each in models.items()} == {
        "minimax-m3": "openai/minimax-m3",
        "big": "openai/vendor/Big-1",
    }
    assert models["big"]["api_base"] == "https://api.example.com/v1"
    assert models["big"]["api_key"] == "os.environ/EXAMPLE_KEY"
    settings = config["litellm_settings"]
    assert settings["use_chat_completions_url_for_anthropic_messages"] is settings["drop_params"] is True
    assert settings["telemetry"] is False
    assert config["router_settings"] == {"num_retries": 0, "disable_cooldowns": True}
    assert config["general_settings"]["master_key"] == "os.environ/LITELLM_MASTER_KEY"
    assert "sk-" not in text
    assert (home / "gateway" / "litellm.yaml").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("D5")
def test_models_come_from_the_projects_settings(
    home: Path, command: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "src" / "calc"
    below.mkdir(parents=True)
    (tmp_path / "damascus.toml").write_text('[models]\nfast = "a"\nstrong = "b"\n[models.roles]\nreporter = "c"\n')
    monkeypatch.chdir(below)
    told = command("gateway", "config", *UPSTREAM, "--json").json
    assert told["config"] == str(home / "gateway" / "litellm.yaml")
    assert (told["models"], told["variables"]) == (["a", "b", "c"], ["EXAMPLE_KEY"])


@pytest.mark.req("D5")
@pytest.mark.parametrize(
    ("provider", "url", "base"),
    [
        ("openai", "https://api.example.com", "https://api.example.com/v1"),
        ("openai", "https://api.example.com/paas/v4/", "https://api.example.com/paas/v4"),
        ("hosted_vllm", "http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("anthropic", "https://api.example.com/anthropic/v1", "https://api.example.com/anthropic"),
    ],
)
def test_the_address_is_brought_into_the_providers_form(
    home: Path, command: Cli, provider: str, url: str, base: str
) -> None:
    ran = command("gateway", "config", "--upstream", url, "--provider", provider)
    (model,) = yaml.safe_load(Path(ran.out.strip()).read_text())["model_list"]
    given = model["litellm_params"]
    assert (given["model"], given["api_base"], given["api_key"]) == (f"{provider}/minimax-m3", base, "none")


@pytest.mark.req("D5")
def test_a_changed_config_stays_until_an_upstream_is_named(home: Path, command: Cli) -> None:
    command("gateway", "config", *UPSTREAM)
    file = home / "gateway" / "litellm.yaml"
    file.write_text("model_list: []  # mine\n")
    assert command("gateway", "config").code == 0
    assert file.read_text() == "model_list: []  # mine\n"
    command("gateway", "config", *UPSTREAM)
    assert "EXAMPLE_KEY" in file.read_text()
    assert file.with_suffix(".yaml.old").read_text() == "model_list: []  # mine\n"


@pytest.mark.req("D5")
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "say where the models are: damascus gateway --upstream https://api.example.com/v1"),
        (("--upstream", "example"), 2, "--upstream 'example' is no address"),
        (("--upstream", "https://a.example", "--provider", "vertex"), 2, "Use one of: openai, anthropic, hosted_vllm"),
        (("--upstream", "https://a.example", "--upstream-key-env", "sk-1234"), 2, "the name of a variable, not"),
        (UPSTREAM, 1, "takes a key from EXAMPLE_KEY, which is not set. Set it: export EXAMPLE_KEY=…"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_one_sentence(
    home: Path, command: Cli, words: tuple[str, ...], code: int, says: str
) -> None:
    ran = command("gateway", *words)
    assert ran.code == code
    assert says in ran.error
    assert "sk-1234" not in ran.error


@pytest.mark.req("D5")
def test_without_litellm_it_says_what_to_install(home: Path, command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    ran = command("gateway", "--upstream", "http://127.0.0.1:8000/v1")
    assert (ran.code, ran.error) == (1, f"error: LiteLLM is not installed: {install('gateway')}")


@pytest.mark.req("D5")
def test_detached_it_is_found_by_the_bridge_and_stopped_by_name(home: Path, command: Cli) -> None:
    port = str(free_port())
    ran = command("gateway", "--upstream", "http://127.0.0.1:8000", "--port", port, "--detach")
    assert ran.code == 0, ran.err
    url, place = f"http://127.0.0.1:{port}", GatewayPlace(home)
    assert f"The gateway answers at {url} with minimax-m3, ready in" in ran.out
    assert f'export ANTHROPIC_AUTH_TOKEN="$(cat {place.key_file})"   # {place.key()[:6]}…' in ran.out
    assert place.key() not in ran.out
    told = command("gateway", "status", "--json").json
    assert (told["running"], told["url"]) == (True, url)
    assert GatewayBridge.from_environment({}, "", home).url == url
    again = command("gateway", "--port", port)
    assert (again.code, f"a gateway is already running at {url}" in again.error) == (1, True)
    assert command("gateway", "stop").out == "The gateway is stopped.\n"
    assert not Running(told["pid"], procfs.start_time(told["pid"]), "", url).alive
    assert procfs.process(told["pid"]) is None
    ran = command("gateway", "status")
    assert (ran.code, ran.out.splitlines()[0]) == (1, "No gateway of ours runs.")
    assert command("gateway", "stop").out == "No gateway of ours was running.\n"


@pytest.mark.req("D5")
def test_the_stored_key_goes_to_our_own_gateway_only(home: Path, command: Cli) -> None:
    command("gateway", "--upstream", "http://127.0.0.1:8000", "--port", str(free_port()), "--detach")
    place = GatewayPlace(home)
    mine = GatewayBridge.from_environment({"ANTHROPIC_API_KEY": "sk-another"}, "", home)
    other = GatewayBridge.from_environment({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, "", home)
    assert (mine._gateway.key, mine._gateway.bearer) == (place.key(), True)
    assert other._gateway.key is None
    command("gateway", "stop")


@pytest.mark.req("D5", "W9")
def test_it_is_started_with_an_allow_list_of_the_environment(
    home: Path, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_KEY", "sk-example-4711")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not for LiteLLM")
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", "postgresql://nobody@127.0.0.1/x")
    port = str(free_port())
    assert command("gateway", *UPSTREAM, "--port", port, "--detach").code == 0
    seen = json.loads((home / "gateway" / "seen.json").read_text())
    environ = seen["environ"]
    assert (environ["EXAMPLE_KEY"], environ["LITELLM_MASTER_KEY"]) == ("sk-example-4711", GatewayPlace(home).key())
    assert {name for name in environ if name.startswith(("AWS", "DAMASCUS"))} == set()
    assert environ["LITELLM_MODE"] == "PRODUCTION"
    assert seen["argv"][1:] == [
        "--config", str(home / "gateway/litellm.yaml"), "--host", "127.0.0.1", "--port", port, "--telemetry", "False",
    ]  # fmt: skip
    assert seen["cwd"] == str(home / "gateway")
    command("gateway", "stop")


@pytest.mark.req("D5")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_a_signal_ends_it(home: Path, number: signal.Signals) -> None:
    port = str(free_port())
    program = Path(sys.executable).parent / "damascus"
    words = [program, "gateway", "--upstream", "http://127.0.0.1:8000", "--port", port]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stdout
        said = ""
        while "Next: " not in said:
            line = started.stdout.readline()
            assert line, started.stderr and started.stderr.read()
            said += line
        found = GatewayPlace(home).running()
        assert found
        started.send_signal(number)
        rest, err = started.communicate(timeout=30)
    assert (started.returncode, rest, err) == (0, "The gateway is stopped.\n", "")
    assert not found.alive
    assert GatewayPlace(home).running() is None


@pytest.mark.req("D5")
def test_a_start_that_fails_shows_why_and_leaves_nothing(home: Path, command: Cli) -> None:
    home.mkdir()
    (home / "broken").touch()
    ran = command("gateway", "--upstream", "http://127.0.0.1:8000", "--port", str(free_port()))
    assert ran.code == 1
    assert "LiteLLM exited with code 1: the config has a hole (log: " in ran.error
    assert GatewayPlace(home).running() is None


@pytest.mark.req("D5")
def test_a_gateway_that_ends_by_itself_is_told(home: Path) -> None:
    program = Path(sys.executable).parent / "damascus"
    words = [program, "gateway", "--upstream", "http://127.0.0.1:8000", "--port", str(free_port())]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        found = eventually(GatewayPlace(home).running, what="the gateway")
        eventually((home / "gateway" / "seen.json").exists, what="its start")
        os.kill(found.pid, signal.SIGKILL)
        _, err = started.communicate(timeout=30)
    assert started.returncode == 1
    assert "LiteLLM exited with code -9" in err


@pytest.mark.req("D5")
def test_a_taken_port_is_said_before_anything_starts(home: Path, command: Cli) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = command("gateway", "--upstream", "http://127.0.0.1:8000", "--port", port)
    assert (ran.code, f"port {port} can't be used: Address already in use" in ran.error) == (1, True)
    assert not (home / "gateway" / "seen.json").exists()


@pytest.mark.req("D5")
def test_another_process_with_an_old_pid_is_not_ours(home: Path) -> None:
    place = GatewayPlace(home)
    place.make()
    place.note(Running(os.getpid(), procfs.start_time(os.getpid()) - 1, Running.of(os.getpid(), "").boot, "http://x"))
    assert place.running() is None
    place.note(Running.of(os.getpid(), "http://127.0.0.1:1"))
    assert place.running() is not None
    place.forget()
