"""The ways to a model that `init` offers: what damascus.toml says of each, and what is left to export."""

import json
from dataclasses import dataclass
from enum import StrEnum

from damascus.domain.errors import UsageError
from damascus.gateway.upstream import Gateway

EXAMPLE = "https://gateway.example.com/v1"


class Preset(StrEnum):
    """`--preset`"""

    ANTHROPIC = "anthropic"
    LITELLM = "litellm"
    OPENAI = "openai"


@dataclass(frozen=True)
class Way:
    """`lines` are the tables [agent] and [models], `then` what to do before the first run."""

    lines: str
    then: str


NONE = """\
[agent]
# Any executable can be an agent (docs/howto/agent.md).
# kind = "command"
# command = "./my-agent"
"""
OFFERED = {
    Preset.ANTHROPIC: "Claude Code with Anthropic's own API",
    Preset.LITELLM: "Claude Code through LiteLLM on this machine (damascus gateway), for any provider",
    Preset.OPENAI: "opencode with any gateway that speaks OpenAI's chat completions",
}


def way(preset: Preset, gateway: str = "") -> Way:
    """`gateway` is the address of yours, for the presets that have one."""
    if gateway:
        _refuse_no_address(gateway)
    match preset:
        case Preset.ANTHROPIC:
            lines = _lines(
                OFFERED[preset],
                "claude",
                gateway or "https://api.anthropic.com",
                "claude-sonnet-4-5",
                "claude-opus-4-5",
            )
            return Way(lines, "export ANTHROPIC_API_KEY=…")
        case Preset.LITELLM:
            start = "damascus gateway --upstream https://api.example.com/v1 --upstream-key-env MODEL_KEY --detach"
            return Way(_lines(OFFERED[preset], "claude", gateway), f"export MODEL_KEY=… && {start}")
        case Preset.OPENAI:
            address = gateway or EXAMPLE
            lines = _lines(OFFERED[preset], "opencode", gateway)
            return Way(lines, f"export ANTHROPIC_BASE_URL={address} ANTHROPIC_AUTH_TOKEN=…")


def _lines(about: str, kind: str, gateway: str, fast: str = "minimax-m3", strong: str = "minimax-m3") -> str:
    """The key is never here: it is a variable of whoever runs it."""
    named = [f"gateway = {json.dumps(gateway)}"] if gateway else []
    agent = [f"# {about} (docs/gateway.md). The key is no part of this file.", f'kind = "{kind}"', *named]
    models = ["# As the gateway calls them.", f'fast = "{fast}"', f'strong = "{strong}"']
    return "\n".join(["[agent]", *agent, "", "[models]", *models]) + "\n"


def _refuse_no_address(gateway: str) -> None:
    Gateway.at(gateway)


def named(text: str) -> Preset | None:
    """As a person wrote it; None for none."""
    wanted = text.strip().lower()
    if wanted in ("", "none"):
        return None
    try:
        return Preset(wanted)
    except ValueError:
        raise UsageError(f"there is no preset {text!r}. Choose one of: {', '.join(Preset)}, none.") from None


def chosen(text: str, gateway: str = "") -> Way | None:
    """As a person wrote them, the preset and the address of a gateway; None for none."""
    preset = named(text)
    if gateway and preset is None:
        raise UsageError("--gateway goes with a --preset: anthropic, litellm or openai.")
    return way(preset, gateway) if preset else None
