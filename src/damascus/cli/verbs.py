"""The verbs in the order of --help, each with the module that has it: a verb's module is imported when it is called.

So a verb imports what it needs at the top of its file, and `damascus --help` and shell completion import none of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class Verb:
    """`short` is its line in --help. `function` is "" for a family of verbs: its module has an `app` of its own, which
    may be a `VerbGroup` with a table of its own."""

    module: str
    short: str
    function: str = ""


VERBS: Mapping[str, Verb] = {
    "demo": Verb("demo", "See it work: five stories, no key, no server.", "demo"),
    "init": Verb("init", "Make this git repository a project.", "init"),
    "new": Verb("new", "Write a spec to edit, from one sentence.", "new"),
    "add": Verb("add", "Queue stories from spec files, all or none.", "add"),
    "tasks": Verb("tasks", "An application from its task graph."),
    "plan": Verb("plan", "Make a task graph of an idea; you approve it.", "plan"),
    "import": Verb("import_", "Queue what was planned elsewhere.", "import_"),
    "run": Verb("run", "Work through this project's queue.", "run"),
    "up": Verb("up", "Work, with the window open in a browser.", "up"),
    "web": Verb("web", "The window alone: every page, live.", "web"),
    "worker": Verb("worker", "Run another worker, on any host.", "worker"),
    "status": Verb("status", "What is moving, and what needs you.", "status"),
    "show": Verb("show", "One story, and what happened step by step.", "show"),
    "diff": Verb("diff", "What a story changes, as a patch.", "diff"),
    "why": Verb("why", "What a story waits for, and who must act.", "why"),
    "graph": Verb("graph", "The repositories: who needs whom, CI, locks.", "graph"),
    "logs": Verb("logs", "Transcripts and test logs of a story.", "logs"),
    "prompt": Verb("prompt", "What a story's next agent step would be told.", "prompt"),
    "events": Verb("events", "What happened, oldest first.", "events"),
    "receipt": Verb("receipt", "What is proved of a story; export, verify."),
    "stats": Verb("stats", "Lead time, tries, verdicts, files, cost.", "stats"),
    "inbox": Verb("inbox", "The questions that only you can answer.", "inbox"),
    "answer": Verb("answer", "Answer one of them.", "answer"),
    "approve": Verb("approve", "Approve a story that is waiting for you.", "approve"),
    "change": Verb("change", "Say that what is done is not valid any more.", "change"),
    "send-back": Verb("approve", "Send it back, with a message to its agent.", "send_back"),
    "retry": Verb("retry", "Give a story a new budget of tries.", "retry"),
    "cancel": Verb("cancel", "End a story.", "cancel"),
    "ship": Verb("ship", "Declare SHIP: verify main for a release.", "ship"),
    "hold": Verb("hold", "Stop a repository and its chain.", "hold"),
    "release": Verb("hold", "End the holds on a repository.", "release"),
    "patterns": Verb("patterns", "The pattern library: search it, add to it."),
    "scan": Verb("scan", "Search files for secrets.", "scan"),
    "replay": Verb("replay", "Check a story's logged writes again.", "replay"),
    "docs": Verb("docs", "The documents: list them, or print one.", "docs"),
    "doctor": Verb("doctor", "Check the set-up, and say what to do.", "doctor"),
    "lab": Verb("lab", "Lying agents, played against this installation."),
    "rescue": Verb("rescue", "List and restore whatever an agent wrote."),
    "write": Verb("write", "Stage, show, apply and reject single writes."),
    "db": Verb("db", "The database: start, stop, status, back-up, restore."),
    "notify": Verb("notify", "Messages to people: send one by hand."),
    "service": Verb("service", "This project as a service of your systemd."),
    "gateway": Verb("gateway", "A model gateway on this machine: LiteLLM."),
    "token": Verb("token", "Tokens for programs: the API and MCP."),
    "mcp": Verb("mcp", "Serve this project to an agent, over MCP.", "mcp"),
    "forge": Verb("forge", "A trial forge, and checks of your own."),
}


def command_of(name: str, verb: Verb) -> Any:
    """The command itself: its module is imported now. The type is typer's own and private."""
    module = import_module(f"damascus.cli.{verb.module}")
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    if verb.function:
        holder.command(name, short_help=verb.short)(getattr(module, verb.function))
        return typer.main.get_command(holder)
    holder.add_typer(module.app, name=name, short_help=verb.short)
    return typer.main.get_group(holder).commands[name]


@dataclass(frozen=True)
class _Commands(Mapping[str, Any]):
    """Name to command, imported when it is looked up."""

    verbs: Mapping[str, Verb]

    def __getitem__(self, name: str) -> Any:
        return command_of(name, self.verbs[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.verbs)

    def __len__(self) -> int:
        return len(self.verbs)


class VerbGroup(TyperGroup):
    """The root, or a family with its own table: calling a verb imports its module, listing the verbs reads the table
    alone."""

    verbs: ClassVar[Mapping[str, Verb]] = VERBS

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.verbs)  # type: ignore[assignment]  # typer only reads it
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._listing:
            return TyperCommand(name=cmd_name, short_help=self.verbs[cmd_name].short)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with self._only_listed():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        with self._only_listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _only_listed(self) -> Iterator[None]:
        """Typer asks for each command only to read its name and its line."""
        self._listing = True
        try:
            yield
        finally:
            self._listing = False
