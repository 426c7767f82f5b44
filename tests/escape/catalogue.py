"""All attempts, and what each level makes of them: the source of docs/sandbox.md's table."""

from tests.escape import on_files, on_others
from tests.escape.attempt import Attempt

ATTEMPTS = (*on_files.ATTEMPTS, *on_others.ATTEMPTS)


def stopped_by_landlock(attempt: Attempt, abi: int) -> bool:
    return attempt.landlock is not None and abi >= attempt.landlock
