"""Are a gateway's address, key and model right? One request for one token says so, before an agent is sent.

Only what a person must correct is a fault: an answer that time may cure (429, 5xx, silence) is met by the agent itself.
"""

import json
import re
from typing import Literal

import httpx

from damascus.domain.failures import REFUSING_STATUS
from damascus.gateway.model_answers import error_of
from damascus.gateway.upstream import Gateway, UpstreamCall

Api = Literal["messages", "chat/completions", "responses"]
"""What an agent's model speaks."""
PATIENCE = httpx.Timeout(10.0, connect=5.0)
LEAST = {"messages": "max_tokens", "chat/completions": "max_tokens", "responses": "max_output_tokens"}
LEAST_OF_RESPONSES = 16
"""Fewer are refused there."""
UNKNOWN_MODEL = re.compile(
    r"invalid model name|model\b.{0,80}\b(not found|not exist|unknown|not supported)|unknown model|no connected db",
    re.IGNORECASE,
)
"""What LiteLLM and others say with status 400 of a model that they don't have, and of a key."""
LIKE_A_KEY = re.compile(r"\b(sk|key|pk)-[\w*.…-]{4,}", re.IGNORECASE)
MOST_WORDS = 160
ERROR_LIMIT = 64 * 2**10
NOT_A_MODEL = 405


def fault(gateway: Gateway, api: Api, model: str) -> str:
    """A sentence with status, URL and model, and what to do; "" where nothing is known against it."""
    try:
        status, kind, body = _asked(gateway, api, model)
    except httpx.TimeoutException as err:
        return _away(gateway, model, "no answer in 5 s") if isinstance(err, httpx.ConnectTimeout) else ""
    except httpx.ConnectError as err:
        return _away(gateway, model, str(err) or "no connection")
    except httpx.HTTPError:
        return ""
    if 300 <= status < 400 or status == NOT_A_MODEL:
        return f"{_answers(gateway, model, status)}, so it is no model's address. {_address()}"
    if status < 300:
        named = re.search(r"json|event-stream", kind) is not None
        return "" if named else f"{_answers(gateway, model, status)} with {kind or 'nothing'}. {_address()}"
    return refusal(gateway, model, status, error_of(body))


def refusal(gateway: Gateway, model: str, status: int, text: str) -> str:
    """The same for an answer that an agent got; "" for one that is no fault of the settings."""
    unknown = status == 400 and UNKNOWN_MODEL.search(text) is not None
    if status not in REFUSING_STATUS and not unknown:
        return ""
    said = f": {_short(gateway, text)}" if text else ""
    return f"{_answers(gateway, model, status)}{said}. {_cure(gateway, status, text)}"


def _asked(gateway: Gateway, api: Api, model: str) -> tuple[int, str, bytes]:
    prompt = "ping" if api == "responses" else [{"role": "user", "content": "ping"}]
    least = LEAST_OF_RESPONSES if api == "responses" else 1
    body = {"model": model, LEAST[api]: least, "input" if api == "responses" else "messages": prompt}
    data = json.dumps(body).encode()
    shown = {"x-api-key": "", "anthropic-version": "2023-06-01"} if api == "messages" else {"authorization": ""}
    shown |= {"content-type": "application/json", "accept": "application/json"}
    call = UpstreamCall("POST", f"/v1/{api}", shown, length=len(data))
    with (
        httpx.Client(verify=gateway.tls, timeout=PATIENCE, trust_env=not gateway.loopback) as client,
        client.stream("POST", gateway.url + call.target, headers=gateway.headers(call), content=data) as answer,
    ):
        told = b""
        for piece in answer.iter_bytes():
            told += piece
            if len(told) > ERROR_LIMIT:
                break
        return answer.status_code, answer.headers.get("content-type", ""), told


def _answers(gateway: Gateway, model: str, status: int) -> str:
    return f"the model gateway {gateway.url} answers {status} for model {model}"


def _away(gateway: Gateway, model: str, why: str) -> str:
    started = " Start it: damascus gateway, or correct" if gateway.loopback else " Correct"
    told = f"the model gateway {gateway.url} can't be reached for model {model} ({_short(gateway, why)})."
    return f"{told}{started} [agent] gateway or ANTHROPIC_BASE_URL."


def _address() -> str:
    return "Correct [agent] gateway or ANTHROPIC_BASE_URL (docs/gateway.md)."


def _cure(gateway: Gateway, status: int, text: str) -> str:
    if status in (401, 403) or "connected db" in text.lower():
        key = f"the key in {gateway.key_from}" if gateway.key_from else "the key"
        given = f"Correct {key}" if gateway.key else "No key is set: export ANTHROPIC_API_KEY"
        return f"{given}, or what it may use there (docs/gateway.md)."
    return "Correct the model's name under [models], or the gateway's address ([agent] gateway, ANTHROPIC_BASE_URL)."


def _short(gateway: Gateway, text: str) -> str:
    """Without a key, however the gateway repeats it."""
    masked = text.replace(gateway.key, "***") if gateway.key else text
    line = " ".join(LIKE_A_KEY.sub("***", masked).split()).rstrip(". ")
    return line if len(line) <= MOST_WORDS else f"{line[:MOST_WORDS]}…"
