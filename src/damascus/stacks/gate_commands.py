"""The commands that must exit 0 on every candidate: those of [gates.commands], else lint, types and build as the base's
files configure them. Whatever names one, it is the base's word: a story adds, changes and takes away none."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from damascus.domain.config import Config
from damascus.stacks import REGISTRY, detect
from damascus.stacks.stack import BaseFiles, FoundCommand

NO_COMMAND = "none"
BUILD = "build"
Read = Callable[[str], bytes | None]


@dataclass(frozen=True)
class GateCommand:
    """`found`: in the base's files, nobody wrote it down. `runs` is what it runs in turn, as text."""

    name: str
    command: str
    found: bool = False
    runs: tuple[str, ...] = ()

    def told(self, main: str) -> str:
        origin = f" (found from {main}'s files)" if self.found else ""
        return f"{self.name} `{self.command}`{origin}"


@dataclass(frozen=True)
class GateCommands:
    """`none`: by name what damascus.toml says there is none of."""

    commands: tuple[GateCommand, ...] = ()
    none: tuple[str, ...] = ()

    def left_out(self) -> list[str]:
        return [f"{name}: damascus.toml says that there is none" for name in self.none]


def commands_of(config: Config, listing: Collection[str], read: Read) -> GateCommands:
    """Of a commit with these files, by the settings that hold there."""
    base = BaseFiles(listing, read, f"{config.test.command}\n{config.workspace.setup}")
    named = {name: text.strip() for name, text in config.gates.commands.items() if text.strip()}
    none = tuple(name for name, command in named.items() if command.lower() == NO_COMMAND)
    own = [GateCommand(name, command, False, _runs(name, command, base)) for name, command in named.items()]
    return GateCommands((*(each for each in own if each.name not in none), *_found(base, named)), none)


def _found(base: BaseFiles, named: Collection[str]) -> list[GateCommand]:
    found: dict[str, FoundCommand] = {}
    for stack in detect(base.listing):
        for each in stack.commands()(base) if stack.commands else ():
            if each.kind not in named:
                found[each.kind if each.kind not in found else f"{each.kind}-{each.tool}"] = each
    new = {name: each for name, each in found.items() if name not in named}
    return [GateCommand(name, each.command, True, _runs(each.kind, each.command, base)) for name, each in new.items()]


def _runs(kind: str, command: str, base: BaseFiles) -> tuple[str, ...]:
    """Not of a build: its scripts are the code's own business and change with it."""
    return unfolded(command, base) if kind != BUILD else ()


def unfolded(command: str, base: BaseFiles) -> tuple[str, ...]:
    """What it runs in turn by the base's word (`npm run lint`), as text."""
    readers = [stack.unfolds for stack in REGISTRY.values() if stack.unfolds]
    return tuple(text for reader in readers for text in reader()(command, base))
