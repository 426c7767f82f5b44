"""The real LiteLLM, started as a user starts it: `damascus gateway --detach` in a data folder of the test's own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from damascus.gateway.litellm.place import GatewayPlace
from tests.agents.upstream import free_port

ROOT = Path(__file__).parents[2]
BESIDE = ROOT / ".components" / "bin"
INSTALL = "make components, then PATH=.components/bin:$PATH"
UPSTREAM_KEY = "sk-upstream-0815"
DAMASCUS = str(Path(sys.executable).parent / "damascus")


@dataclass(frozen=True)
class Started:
    place: GatewayPlace
    url: str
    said: str
    environ: dict[str, str]

    def damascus(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([DAMASCUS, *words], env=self.environ, capture_output=True, text=True, timeout=240)


def path_with_litellm() -> str:
    found = shutil.which("litellm", path=os.pathsep.join([os.environ["PATH"], str(BESIDE)]))
    if not found:
        pytest.skip(f"LiteLLM is missing: {INSTALL}")
    return os.pathsep.join([os.environ["PATH"], str(Path(found).parent)])


@contextmanager
def litellm(home: Path, upstream: str, **providers: str) -> Iterator[Started]:
    """`minimax-m3` by OpenAI's API, and further models by name and provider. The start takes some 20 s."""
    environ = {"PATH": path_with_litellm(), "HOME": str(home), "DAMASCUS_HOME": str(home), "UPSTREAM": UPSTREAM_KEY}
    port = free_port()
    started = Started(GatewayPlace(home), f"http://127.0.0.1:{port}", "", environ)
    made = started.damascus("gateway", "config", "--upstream", upstream, "--upstream-key-env", "UPSTREAM")
    assert made.returncode == 0, made.stderr
    _add_models(started.place, upstream, providers)
    try:
        done = started.damascus("gateway", "--port", str(port), "--detach")
        assert done.returncode == 0, done.stdout + done.stderr
        yield Started(started.place, started.url, done.stdout, environ)
    finally:
        started.damascus("gateway", "stop")


def _add_models(place: GatewayPlace, upstream: str, providers: dict[str, str]) -> None:
    """By hand, as a person may: without --upstream the config stays as it is."""
    config = yaml.safe_load(place.config.read_text())
    for name, provider in providers.items():
        base = upstream if provider == "anthropic" else f"{upstream}/v1"
        given = {"model": f"{provider}/minimax-m3", "api_base": base, "api_key": "os.environ/UPSTREAM"}
        config["model_list"].append({"model_name": name, "litellm_params": given})
    place.config.write_text(yaml.safe_dump(config))
