"""The gate commands of the base that a candidate stands on."""

import threading
from collections import OrderedDict

from damascus.domain.config import Config
from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.stacks.gate_commands import GateCommands, commands_of, unfolded
from damascus.stacks.stack import BaseFiles

KNOWN_AT_MOST = 64


class KnownCommands:
    """Asked for each changed file by several gates. A commit is the same wherever it is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Sha, str], GateCommands] = OrderedDict()

    def of(self, candidate: Candidate) -> GateCommands:
        key = candidate.base, _said(candidate.config)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            base = candidate.base
            known = commands_of(candidate.config, candidate.files(base), lambda path: candidate.read(base, path))
            with self._lock:
                self._known[key] = known
                if len(self._known) > KNOWN_AT_MOST:
                    self._known.popitem(last=False)
        return known


def _said(config: Config) -> str:
    return repr((config.gates.commands, config.test.command, config.workspace.setup))


KNOWN = KnownCommands()


def commands_at(candidate: Candidate) -> GateCommands:
    """By the base alone: no story names, changes or hides what it is judged by."""
    return KNOWN.of(candidate)


def judging_texts(candidate: Candidate) -> list[str]:
    """The project's gate commands and the story's own, each with what it runs in turn by the base's word."""
    base, said = candidate.base, f"{candidate.config.test.command}\n{candidate.config.workspace.setup}"
    files = BaseFiles(candidate.files(base), lambda path: candidate.read(base, path), said)
    own = (text for command in candidate.spec.gate_commands for text in (command, *unfolded(command, files)))
    return [*(text for each in commands_at(candidate).commands for text in (each.command, *each.runs)), *own]
