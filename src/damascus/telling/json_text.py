"""Values as JSON, the same for `--json`, the API and MCP: times in UTC, bytes as text, what nobody sees written out."""

import json
from datetime import UTC, datetime
from typing import Any

from damascus.domain.visible import UNSEEN


def compact(value: Any) -> str:
    return written_out(json.dumps(value, default=plain_value, ensure_ascii=False))


def indented(value: Any) -> str:
    return written_out(json.dumps(value, indent=2, default=plain_value, ensure_ascii=False))


def plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def written_out(text: str) -> str:
    """What nobody sees is written out: a terminal shows JSON as well, and a script reads the same."""
    return UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)
