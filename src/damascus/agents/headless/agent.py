"""Agents that are programs with a model and no hooks: they get the prompt, print an event per line, and end.

What a program needs to be started so, and what its events mean, is in its own file (codex.py, opencode.py); its exit
code 0 is no word that it finished. Nobody is asked before they write: the write pipeline runs over git's diff after the
step.
"""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path

from damascus.agents.headless.session import EventReader, HeadlessSession
from damascus.agents.model_agent import Model, ModelAgent
from damascus.agents.surroundings import Surroundings
from damascus.agents.transcript import Transcript

LOOPBACK = "127.0.0.1,localhost,::1"


class HeadlessAgent(ModelAgent):
    @abstractmethod
    def configured(self, model: Model, around: Surroundings, workspace: Path) -> Mapping[str, str]:
        """Write the program's own configuration; the variables that lead it there. It sees its work in `workspace`."""

    @abstractmethod
    def words(self, model: Model) -> list[str]:
        """The command's arguments."""

    @abstractmethod
    def reader(self, workspace: Path) -> EventReader:
        """Who understands its events."""

    def session(self, around: Surroundings, transcript: Transcript) -> HeadlessSession:
        reader = self.reader(around.workspace)
        reader.seats = around.seats
        return HeadlessSession(around.watch, transcript, reader, self.patience.retries)

    def command(self, model: Model, around: Surroundings) -> list[str]:
        return [str(self.program), *self.words(model)]

    def settings(self, model: Model, around: Surroundings) -> Mapping[str, str]:
        """For the rest of the world its programs are told to ask the bridge, which refuses it."""
        return {
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model.bridge),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), LOOPBACK),
            **self.configured(model, around, Path(around.seats.inside(around.workspace))),
        }
