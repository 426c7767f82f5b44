"""Before an agent starts: does the pipeline refuse what it must, and let pass what it may? Nothing of it is logged."""

from collections.abc import Callable

from damascus.writes.checks import Checks
from damascus.writes.proposal import Proposal
from damascus.writes.refusal import Refused

PLANTED = b"key = 'sk-" + b"ant-api03-" + b"k7Qz9LmWx2Rt5VbNc8Hj" * 2 + b"'\n"
OUTSIDE = "damascus.toml"


def self_test(checks: Checks) -> str:
    """What is wrong, or ""."""
    if not _refuses(lambda: checks.no_secret(Proposal("planted.py", None, PLANTED)), "secret found"):
        return "a planted secret was not found"
    if not _refuses(lambda: checks.bounds.check(OUTSIDE), OUTSIDE):
        return f"a write to {OUTSIDE} was not refused"
    try:
        checks.no_secret(Proposal("plain.py", None, b"x = 1\n"))
    except Refused as refused:
        return f"a plain write was refused: {refused.reason}"
    return ""


def _refuses(check: Callable[[], None], word: str) -> bool:
    try:
        check()
    except Refused as refused:
        return word in refused.reason
    return False
