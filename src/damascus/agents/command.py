"""Any executable as an agent: the public contract of docs/howto/agent.md.

    cwd              the story's workspace
    stdin            the prompt, as Markdown
    DAMASCUS_ROLE    code-implementer, test-author, …
    DAMASCUS_BRIEF   path of a JSON file with the brief
    DAMASCUS_REPORT  path where the agent may write a JSON report
    stdout, stderr   the transcript, and `<transcript>.stderr` beside it
    exit             0 finished; 75 the provider is unavailable; other: failed

The command is split like shell words and run without a shell.
"""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from damascus.agents.handover import hand_over, read_report
from damascus.domain.errors import UsageError
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.system import process
from damascus.system.masking import mask_file, masked
from damascus.system.output import stderr_log

PASSED_ON = re.compile(r"LANG|LC_[A-Z]+|TMPDIR|TZ")
OURS = {"DAMASCUS_HOME", "DAMASCUS_DATABASE_URL"}
INTERPRETER = re.compile(r"(python|pypy)[0-9.]*|node|bun|deno|ruby|perl|sh|bash|dash|zsh")


class CommandAgent:
    """`start_folder` is where damascus was started, `homes` holds a private HOME per story."""

    name = "command"
    confinement = "unconfined"

    def __init__(self, command: str, *, start_folder: Path, homes: Path) -> None:
        self.argv = words(command, start_folder)
        self._start_folder = start_folder
        self._homes = homes

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        hand_over(brief, watch.brief_file, watch.report_file)
        done = process.run(
            self.argv,
            cwd=workspace,
            env=self.environment(brief, watch),
            log=watch.transcript,
            timeout=watch.timeout,
            stdin=watch.prompt.encode("utf-8", errors="replace"),
            stopping=watch.stopping,
            started=lambda identity: watch.started(identity.as_mapping()),
            log_limit=watch.log_limit,
            merge_stderr=False,
        )
        for log in (watch.transcript, stderr_log(watch.transcript)):
            mask_file(log, watch.env.values())
        return AgentRun(
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            stopped=done.stopped,
            report=read_report(watch.report_file),
            transcript=str(watch.transcript),
            tail=masked(done.tail, watch.env.values()),
            seconds=done.seconds,
        )

    def environment(self, brief: Brief, watch: Watch) -> dict[str, str]:
        """An allow-list: nothing of the user's secrets, nothing that leads to our database or data folder."""
        home = self._homes / brief.story_id
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        given = {name: value for name, value in watch.env.items() if name not in OURS}
        return {
            **{name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            "PATH": absolute_path(os.environ, self._start_folder),
            **given,
            "TERM": "dumb",
            "HOME": str(home.absolute()),
            "DAMASCUS_ROLE": brief.role,
            "DAMASCUS_BRIEF": str(watch.brief_file.absolute()),
            "DAMASCUS_REPORT": str(watch.report_file.absolute()),
        }


def words(command: str, start_folder: Path) -> list[str]:
    """The command's words. Its path is found from where damascus was started: what lies in a workspace is the
    agent's to change. The same holds for the script of an interpreter (`python3 agent.py`), no other argument."""
    try:
        found = shlex.split(command)
    except ValueError as err:
        raise UsageError(f"The agent command {command!r} can't be split into words: {err}. Check its quotes.") from None
    if not found:
        raise UsageError('The agent command is empty. Set [agent] command or --agent-command "…".')
    if "/" in found[0]:
        found[0] = str(start_folder.absolute() / found[0])
    if INTERPRETER.fullmatch(os.path.basename(found[0])):
        _resolve_script(found, start_folder.absolute())
    return found


def _resolve_script(found: list[str], start_folder: Path) -> None:
    for n, word in enumerate(found[1:], start=1):
        if word in ("-c", "-m", "-e", "-"):
            return
        if not word.startswith("-"):
            if (start_folder / word).is_file():
                found[n] = str(start_folder / word)
            return


def absolute_path(environ: Mapping[str, str], start_folder: Path) -> str:
    """PATH with no entry that would mean a folder of the workspace."""
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(str(start_folder.absolute() / entry) for entry in entries if entry)
