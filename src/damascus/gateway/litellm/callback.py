# mypy: ignore-errors
"""A callback that LiteLLM loads, copied beside its config: it tells when a provider's rate limit ends.

LiteLLM drops the provider's headers from errors of /v1/messages. So they are told in the error's message, where
`model_answers.resets_told_in` finds them. It runs in LiteLLM's own environment: no import of ours.
"""

import re

from litellm.integrations.custom_logger import CustomLogger

TOLD = re.compile(r"retry-after(-ms)?|(anthropic|x)-ratelimit-(.+-)?(reset|remaining)(-.+)?")
SAFE = re.compile(r"[\w:.+ ,-]{1,40}", re.ASCII)


class TellsResets(CustomLogger):
    async def async_post_call_failure_hook(self, request_data, original_exception, user_api_key_dict, **further):
        answer = getattr(original_exception, "response", None)
        headers = getattr(answer, "headers", None) or getattr(original_exception, "litellm_response_headers", None)
        told = [f"{n}={v}" for n, v in dict(headers or {}).items() if TOLD.fullmatch(n.lower()) and SAFE.fullmatch(v)]
        message = getattr(original_exception, "message", None)
        if told and isinstance(message, str) and "[resets: " not in message:
            original_exception.message = f"{message} [resets: {'; '.join(told)}]"


teller = TellsResets()
