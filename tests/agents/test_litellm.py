"""Bridge and config with the real LiteLLM before a scripted model: what passes, what is counted, what can't be done."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from damascus.domain.ports import Usage
from damascus.gateway.bridge import GatewayBridge, WayOut
from tests.agents.bridged import agent
from tests.agents.litellm_gateway import UPSTREAM_KEY, Started, litellm
from tests.model_server import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Fault, ModelServer, call, say
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MODELS = {"minimax-m3": "openai", "by-anthropic": "anthropic", "by-vllm": "hosted_vllm"}
TOOL = {"name": "Write", "description": "write", "input_schema": {"type": "object", "properties": {}}}
ASKS = {
    "/v1/messages": {"max_tokens": 100, "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]},
    "/v1/chat/completions": {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "Write", "parameters": TOOL["input_schema"]}}],
    },
    "/v1/responses": {"input": "hi"},
}


@dataclass(frozen=True)
class Yard:
    model: ModelServer
    gateway: Started
    faults: list[Fault]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    faults: list[Fault] = []

    def next_fault() -> Iterator[Fault | None]:
        while True:
            yield faults.pop(0) if faults else None

    script = [[say("I write."), call("Write", file_path="a.txt", content="hello")]]
    with ModelServer(script, faults=next_fault()) as model:  # type: ignore[arg-type]
        others = {name: provider for name, provider in MODELS.items() if provider != "openai"}
        with litellm(tmp_path_factory.mktemp("gateway"), model.url, **others) as gateway:
            yield Yard(model, gateway, faults)


@pytest.fixture
def way(yard: Yard, tmp_path: Path) -> Iterator[WayOut]:
    """Found as a worker finds it: nothing is set, but a gateway of ours runs."""
    yard.faults.clear()
    with GatewayBridge.from_environment({}, "", yard.gateway.place.home).open(tmp_path) as opened:
        yield opened


@pytest.mark.req("D5", "X5")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", ASKS)
@pytest.mark.parametrize("model", MODELS)
def test_an_answer_passes_and_is_counted(yard: Yard, way: WayOut, model: str, path: str, stream: bool) -> None:
    with agent(way) as client:
        got = client.post(path, json={"model": model, "stream": stream, **ASKS[path]})
        assert got.status_code == 200, got.text
        assert "I write." in got.text or path == "/v1/responses"
        assert ("Write" in got.text) == (path != "/v1/responses")
    cached = CACHED_TOKENS if MODELS[model] == "anthropic" else 0
    expected = Usage(input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS, cached_tokens=cached, turns=1)
    facts = eventually(lambda: way.facts().usage.turns and way.facts(), what="the usage")
    assert facts.usage == expected
    shown = yard.model.requests[-1].headers
    assert UPSTREAM_KEY in (shown.get("x-api-key", ""), shown.get("authorization", "").removeprefix("Bearer "))


@pytest.mark.req("X5")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_a_rate_limit_reaches_the_bridge_once_and_with_its_end(yard: Yard, way: WayOut, model: str, path: str) -> None:
    before = len(yard.model.requests)
    yard.faults.append(Fault(status=429, headers={"retry-after": "42"}, message="slow down"))
    with agent(way) as client:
        got = client.post(path, json={"model": model, "stream": True, **ASKS[path]})
    facts = way.facts()
    assert got.status_code == 429
    assert len(yard.model.requests) - before == 1, "LiteLLM must not try again by itself"
    assert facts.errors_in_a_row == 1
    assert facts.resets_in == pytest.approx(42, abs=10)
    assert "slow down" in facts.last_error


@pytest.mark.req("X5")
def test_after_failures_the_next_call_is_made(yard: Yard, way: WayOut) -> None:
    """LiteLLM would rest a model that failed, and answer 429 in its name."""
    yard.faults.extend([Fault(status=500)] * 4)
    ask = {"model": "minimax-m3", **ASKS["/v1/messages"]}
    with agent(way) as client:
        assert [client.post("/v1/messages", json=ask).status_code for _ in range(5)] == [500, 500, 500, 500, 200]
    assert way.facts().errors_in_a_row == 0


@pytest.mark.req("W9")
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_a_request_can_not_steer_the_gateway_elsewhere(yard: Yard, way: WayOut, path: str) -> None:
    with ModelServer() as elsewhere:
        there: dict[str, Any] = {"model": "openai/x", "api_base": f"{elsewhere.url}/v1", "api_key": "k"}
        tries: list[dict[str, Any]] = [
            {"api_base": elsewhere.url},
            {"base_url": elsewhere.url},
            {"litellm_params": there},
            {"metadata": there},
            {"fallbacks": [there]},
            {"model_list": [{"model_name": "minimax-m3", "litellm_params": there}]},
            {"user_config": {"model_list": [{"model_name": "minimax-m3", "litellm_params": there}]}},
            {"model": "openai/x", "api_base": elsewhere.url, "api_key": "k"},
            {"extra_body": there},
        ]
        with agent(way) as client:
            for each in tries:
                client.post(path, json={"model": "minimax-m3", **ASKS[path], **each})
        assert elsewhere.requests == []
    assert all(UPSTREAM_KEY not in str(each.body) for each in yard.model.requests)


@pytest.mark.req("D5")
def test_only_the_master_key_opens_the_gateway(yard: Yard, way: WayOut) -> None:
    ask = {"model": "minimax-m3", **ASKS["/v1/messages"]}
    before = len(yard.model.requests)
    with httpx.Client(base_url=yard.gateway.url, trust_env=False) as client:
        for key in ("sk-dummy", way.key, ""):
            assert client.post("/v1/messages", json=ask, headers={"x-api-key": key}).status_code >= 400
    assert len(yard.model.requests) == before


@pytest.mark.req("W9")
def test_the_gateways_own_administration_is_out_of_reach(way: WayOut) -> None:
    with agent(way) as client:
        for path in ("/key/generate", "/model/info", "/config/yaml", "/health", "/routes", "/v1/model/info", "/docs"):
            assert client.get(path).status_code == 403
            assert client.post(path, json={}).status_code == 403


@pytest.mark.req("D5")
def test_what_the_command_says_and_leaves(yard: Yard) -> None:
    gateway, key = yard.gateway, yard.gateway.place.key()
    assert f"The gateway answers at {gateway.url} with minimax-m3, by-anthropic, by-vllm, ready in" in gateway.said
    assert f"export ANTHROPIC_BASE_URL={gateway.url}" in gateway.said
    assert key not in gateway.said
    assert len(key) > 60
    for file in (gateway.place.key_file, gateway.place.log, gateway.place.folder / "running.json"):
        assert file.stat().st_mode & 0o777 == 0o600
    assert gateway.place.folder.stat().st_mode & 0o777 == 0o700
    assert key not in gateway.place.log.read_text()
    assert UPSTREAM_KEY not in gateway.place.log.read_text() + gateway.place.config.read_text()
    found = gateway.place.running()
    assert found
    assert key not in Path(f"/proc/{found.pid}/cmdline").read_text()
    again = gateway.damascus("gateway", "--port", "4000")
    assert (again.returncode, "is already running at" in again.stderr) == (1, True)
    assert os.environ.get("LITELLM_MASTER_KEY") is None
