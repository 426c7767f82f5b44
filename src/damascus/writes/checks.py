"""What judges one write by its path and its text: the same while an agent works, over the diff, in a replay."""

from collections.abc import Callable
from dataclasses import dataclass

from damascus.scanning.lines import REPAIR, new_lines, places
from damascus.scanning.scan import NewLines
from damascus.scanning.scanner import ScanFailed, Scanner
from damascus.writes.bounds import Bounds, shown
from damascus.writes.proposal import Proposal
from damascus.writes.refusal import RefusedWrite


@dataclass(frozen=True)
class Checks:
    """In order, the cheap ones first; the first that refuses is told to the agent."""

    bounds: Bounds
    scanner: Scanner

    def check(self, proposal: Proposal) -> None:
        self.bounds.check(proposal.path)
        self.no_secret(proposal)

    def no_secret(self, proposal: Proposal) -> None:
        """Only what the write adds: an agent can't repair what was there before it."""
        self._scan(lambda: new_lines(proposal.path, proposal.before, proposal.after), shown(proposal.path))

    def no_secret_in_command(self, command: str) -> None:
        lines = [(n, line) for n, line in enumerate(command.splitlines(), 1) if line.strip()]
        found = [NewLines(path="command.sh", binary=False, lines=lines)] if lines else []
        self._scan(lambda: found, "the command")

    def _scan(self, find: Callable[[], list[NewLines]], what: str) -> None:
        try:
            added = find()
            hits = self.scanner.scan(added) if added else []
        except ScanFailed as err:
            text = f"{what} could not be scanned for secrets: {err}. Make it smaller or plainer."
            raise RefusedWrite("secret", text) from None
        if hits:
            raise RefusedWrite("secret", f"secret found: {places(hits)}. {REPAIR}")


# ── before an agent starts: do the checks refuse what they must, and let pass what they may? ──────────────

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
    except RefusedWrite as refused:
        return f"a plain write was refused: {refused.reason}"
    return ""


def _refuses(check: Callable[[], None], word: str) -> bool:
    try:
        check()
    except RefusedWrite as refused:
        return word in refused.reason
    return False
