"""An agent's HTTP client at the bridge."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from damascus.gateway.bridge import GatewayBridge, WayOut
from tests.agents.upstream import Gateway

KEY = "sk-the-real-one-4711"
MESSAGES = "/v1/messages"


def agent(way: WayOut) -> httpx.Client:
    """An agent's HTTP client on the bridge's socket, with the key that it was given."""
    transport = httpx.HTTPTransport(uds=str(way.socket))
    return httpx.Client(transport=transport, base_url="http://model", headers={"x-api-key": way.key}, timeout=30)


@contextmanager
def bridged(gateway: Gateway, folder: Path, **further: Any) -> Iterator[tuple[WayOut, httpx.Client]]:
    with GatewayBridge(gateway.url, KEY).open(folder, **further) as way, agent(way) as client:
        yield way, client


def note(seen: list[Any], sign: str, **facts: Any) -> None:
    """An overseer's `saw` that keeps signs and statuses."""
    seen.append((sign, facts.get("status")))
