"""The LiteLLM config of `damascus gateway`, with what experiments taught of it.

- `openai/…` models would be asked by the responses API; most upstreams speak chat completions only.
- LiteLLM's own retries multiply with the agent's (nine calls for one failed prompt), and its cool-downs answer 429 in
  the upstream's name: both are off, so that the agent and the counters see what the provider really says.
- Streams of chat completions have no usage in them unless it is asked for.
- Secrets are named, not written: `os.environ/NAME`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from damascus.domain.config import Models
from damascus.domain.errors import UsageError

PROVIDERS = ("openai", "anthropic", "hosted_vllm")
MASTER_KEY = "LITELLM_MASTER_KEY"
CALLBACK = "litellm_callback"
NAMED = re.compile(r"os\.environ/([A-Za-z_]\w*)")


@dataclass(frozen=True)
class ModelSource:
    """Where the models are: the provider's address, the variable that holds its key, the API that it speaks."""

    url: str
    key_variable: str = ""
    provider: str = "openai"

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise UsageError(f"--upstream {self.url!r} is no address. Write it like https://api.example.com/v1.")
        if self.key_variable and not re.fullmatch(r"[A-Za-z_]\w*", self.key_variable):
            raise UsageError("--upstream-key-env wants the name of a variable, not the key itself.")
        if self.provider not in PROVIDERS:
            raise UsageError(f"--provider {self.provider!r} is unknown. Use one of: {', '.join(PROVIDERS)}.")

    @property
    def base(self) -> str:
        """LiteLLM adds /v1/messages to an Anthropic base, but only /chat/completions to the others'."""
        plain = self.url.rstrip("/")
        if self.provider == "anthropic":
            return plain.removesuffix("/v1")
        return plain if urlsplit(plain).path else f"{plain}/v1"


def model_names(models: Models, further: Iterable[str] = ()) -> dict[str, str]:
    """Each model that a role may be given, with its name at the provider: `NAME=THEIRS` says another."""
    names = {name: name for name in (models.fast, models.strong, *models.roles.values())}
    for each in further:
        name, _, theirs = each.partition("=")
        names[name] = theirs or name
    return names


def config_text(source: ModelSource, names: Mapping[str, str]) -> str:
    key = f"os.environ/{source.key_variable}" if source.key_variable else "none"
    models = [
        {
            "model_name": name,
            "litellm_params": {
                "model": f"{source.provider}/{theirs}",
                "api_base": source.base,
                "api_key": key,
                "max_retries": 0,
            },
        }
        for name, theirs in names.items()
    ]
    settings = {
        "model_list": models,
        "litellm_settings": {
            "drop_params": True,
            "telemetry": False,
            "num_retries": 0,
            "use_chat_completions_url_for_anthropic_messages": True,
            "callbacks": [f"{CALLBACK}.teller"],
        },
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {"master_key": f"os.environ/{MASTER_KEY}", "always_include_stream_usage": True},
    }
    head = "# Written by `damascus gateway config`. Yours to change: without --upstream it is left as it is.\n"
    return head + yaml.safe_dump(settings, sort_keys=False)


def callback_text() -> str:
    """LiteLLM imports it from the folder of its config."""
    return Path(__file__).with_name("callback.py").read_text("utf-8")


def variables(text: str) -> list[str]:
    """The variables that a config takes secrets from, without the master key, which is ours."""
    return sorted(set(NAMED.findall(text)) - {MASTER_KEY})


def models_in(text: str) -> list[str]:
    try:
        found = yaml.safe_load(text)["model_list"]
        return [str(each["model_name"]) for each in found]
    except (yaml.YAMLError, KeyError, TypeError):
        return []
