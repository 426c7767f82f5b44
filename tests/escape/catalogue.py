"""All attempts, and what each level makes of them: the source of docs/sandbox.md's table."""

from tests.escape import on_files, on_modes, on_others, on_sockets
from tests.escape.attempt import Attempt, Use

ATTEMPTS = (*on_files.ATTEMPTS, *on_modes.ATTEMPTS, *on_others.ATTEMPTS, *on_sockets.ATTEMPTS)


def stopped_by_landlock(attempt: Attempt, use: Use, uid: int, abi: int) -> bool:
    since = attempt.stopped_since(use)
    return (since is not None and abi >= since) or (attempt.spares_root and uid == 0)
