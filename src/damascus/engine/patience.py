"""One call of ours is tried a few times before its story waits (W19): 1 s, doubling, at most 60 s."""

from collections.abc import Callable
from typing import Any, cast

from damascus.domain.errors import TransientError
from damascus.domain.failures import CallRetry
from damascus.domain.ports import Forge


class _Patient:
    """A forge whose every method is retried on transient trouble. Each of them finds what a first try did."""

    def __init__(self, forge: Forge, retry: CallRetry) -> None:
        self._forge = forge
        self._retry = retry

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._forge, name)
        return self._patiently(found) if callable(found) else found

    def _worth_trying(self, err: Exception) -> bool:
        """Who says how long it lasts (a rate limit) is not asked again before: the story waits that long instead."""
        return isinstance(err, TransientError) and (err.wait is None or err.wait <= self._retry.most_seconds)

    def _patiently(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*args: Any, **kwargs: Any) -> Any:
            import stamina

            for attempt in stamina.retry_context(
                on=self._worth_trying,
                attempts=self._retry.attempts,
                timeout=None,
                wait_initial=self._retry.first_seconds,
                wait_max=self._retry.most_seconds,
                wait_jitter=0,
            ):
                with attempt:
                    return call(*args, **kwargs)
            raise AssertionError("unreachable")

        return tried


def patient(forge: Forge, retry: CallRetry) -> Forge:
    return cast(Forge, _Patient(forge, retry))
