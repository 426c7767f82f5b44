"""Tells people: makes messages of the event stream, and sends each at least once to every target of [notify].

Any number of workers may look: one makes a message (the cursor's lock), one sends it (the row is taken for a while). No
story waits for it, and a target that fails is tried again later and later, for three days.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from damascus.domain.config_notify import NotifyConfig
from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.notices import is_quiet
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.notices.targets import Target, targets
from damascus.engine.tools import Tools
from damascus.store import notices
from damascus.store.notices import NoticesWanted, TakenNotice
from damascus.system.masking import own_keys, without_secrets

EVERY = 2.0
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 3600.0
GIVE_UP = 3 * 24 * 3600.0
MOST_AT_ONCE = 20
"""Messages that one look sends: what is more is sent by the next one."""


class Notifier:
    """`clock` says what time it is where the quiet hours are."""

    every = EVERY

    def __init__(
        self, tools: Tools, environ: Mapping[str, str] | None = None, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.tools = tools
        self.config: NotifyConfig = tools.config.notify
        given = os.environ if environ is None else environ
        self._targets = {each.name: each for each in targets_of(tools, given)}
        self._clock = clock or self._now
        self._begun = False

    def look(self, *, last: bool = False) -> int:
        """Make what is due and send it; `last`: the worker ends, and waits for nothing more to come. How many sent."""
        self._begin()
        if self._is_quiet():
            return 0
        wait = 0.0 if last else self.config.batch_seconds
        wanted = NoticesWanted(self.config.on, self.config.targets, wait)
        if notices.make(self.tools.db, self.tools.project, wanted, self._masked):
            notices.forget(self.tools.db, self.tools.project)
        return self._send()

    def _begin(self) -> None:
        if not self._begun:
            notices.begin(self.tools.db, self.tools.project)
            self._begun = True

    def _send(self) -> int:
        here = [name for name, target in self._targets.items() if not target.lacks()]
        sent = 0
        for _ in range(MOST_AT_ONCE):
            taken = notices.take(self.tools.db, self.tools.project, here) if here else None
            if taken is None:
                break
            sent += self._sent(taken)
        return sent

    def _sent(self, taken: TakenNotice) -> bool:
        try:
            self._targets[taken.target].send(taken.message)  # type: ignore[index]  # a word of the same set
        except (DamascusError, TransientError, OSError, ValueError) as err:
            self._failed(taken, self._masked(str(err)))
            return False
        notices.sent(self.tools.db, taken)
        self.tools.log.info("notice sent", target=taken.target, key=taken.message.key, tries=taken.tries)
        return True

    def _failed(self, taken: TakenNotice, why: str) -> None:
        over = taken.age > GIVE_UP
        notices.failed(self.tools.db, taken, why, pause(taken.tries), give_up=over)
        facts = {"target": taken.target, "key": taken.message.key, "tries": taken.tries, "cause": why}
        self.tools.log.error("notice not sent", **facts, given_up=over)

    def _masked(self, text: str) -> str:
        passed = passed_on(self.tools.config.workspace.env)
        return without_secrets(text, [*own_keys(), *passed.values()])

    def _is_quiet(self) -> bool:
        return bool(self.config.quiet) and is_quiet(self.config.quiet, self._clock().time())

    def _now(self) -> datetime:
        try:
            return datetime.now(ZoneInfo(self.config.time_zone) if self.config.time_zone else None)
        except (ZoneInfoNotFoundError, ValueError):
            name = self.config.time_zone
            raise DamascusError(
                f"[notify] time_zone: {name!r} is not known here. Write it like Europe/Berlin."
            ) from None


def targets_of(tools: Tools, environ: Mapping[str, str]) -> Sequence[Target]:
    return targets(tools.config.notify, environ, tools.top or tools.folder, tools.home / "logs")


def pause(tries: int) -> float:
    """Seconds until a message is tried again, after so many tries."""
    return float(min(FIRST_PAUSE * 2.0 ** min(max(tries - 1, 0), 30), LONGEST_PAUSE))
