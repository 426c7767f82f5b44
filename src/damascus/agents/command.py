"""Any executable as an agent: the public contract of docs/howto/agent.md.

    cwd              the story's workspace
    stdin            the prompt, as Markdown
    DAMASCUS_ROLE    code-implementer, test-author, …
    DAMASCUS_BRIEF   path of a JSON file with the brief
    DAMASCUS_REPORT  path where the agent may write a JSON report, in a folder of the step's own
    stdout, stderr   the transcript, and `<transcript>.stderr` beside it
    exit             0 finished; 75 the provider is unavailable; 126, 127 it can't be started; other: failed

The command is split like shell words and run without a shell, confined as well as this machine can: it writes its
workspace, its HOME and the step's own folder, and reads what its own words name (`readable`).
"""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.agents import AgentSetup
from damascus.agents.handover import hand_over, read_report
from damascus.agents.seating import fetched_by_setup, seats_of, to_read, to_write
from damascus.domain.errors import UsageError
from damascus.domain.failures import CANNOT_START
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.system import process
from damascus.system.exposure import too_much
from damascus.system.masking import mask_file, masked
from damascus.system.output import make_way, stderr_log
from damascus.system.plain_file import read_plain
from damascus.system.sandbox import Cage, Level, detect
from damascus.system.seats import Seats
from damascus.system.toolchains import around_program

PASSED_ON = re.compile(r"LANG|LC_[A-Z]+|TZ")
OURS = {"DAMASCUS_HOME", "DAMASCUS_DATABASE_URL"}
INTERPRETER = re.compile(r"(python|pypy)[0-9.]*|node|bun|deno|ruby|perl|sh|bash|dash|zsh")


@dataclass(frozen=True)
class StepFolder:
    """The agent's to write, for one step: temporary files and the report. Whose folder it lies in is not."""

    path: Path

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    @property
    def report(self) -> Path:
        return self.path / "report.json"


class CommandAgent:
    """`start_folder` is where damascus was started, `homes` holds a private HOME per story."""

    name = "command"
    pings = False

    def __init__(self, command: str, *, start_folder: Path, homes: Path, level: Level | None = None) -> None:
        self.argv = words(command, start_folder)
        self._start_folder = start_folder
        self._homes = homes.absolute()
        self._level = level or detect()

    @property
    def confinement(self) -> str:
        return self._level.value

    def fault(self, model: str, *, ping: bool) -> str:
        """Only its program can be looked at: what the command asks is its own business."""
        program = self.argv[0]
        if shutil.which(program, path=absolute_path(os.environ, self._start_folder)):
            return ""
        what = "not executable" if "/" in program and os.path.isfile(program) else "not there"
        return f"the agent command {program} is {what}. Correct [agent] command or --agent-command."

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        hand_over(brief, watch.brief_file, watch.report_file)
        if why := self.fault(watch.model, ping=False):
            make_way(watch.transcript)
            watch.transcript.write_text(f"{why}\n")
            where = str(watch.transcript)
            return AgentRun(exit_code=127, transcript=where, tail=why, confinement=self.confinement, broken=why)
        home = self._home(brief)
        with self._step_folder() as step:
            seats = seats_of(self._level, workspace, watch)
            env = fetched_by_setup(watch, seats) | self.environment(brief, watch, step)
            done = process.run(
                self.argv,
                cwd=workspace,
                env=env,
                log=watch.transcript,
                timeout=watch.timeout,
                stdin=watch.prompt.encode("utf-8", errors="replace"),
                stopping=watch.stopping,
                started=lambda identity: watch.started(identity.as_mapping()),
                log_limit=watch.log_limit,
                merge_stderr=False,
                cage=self._cage(workspace, (home, step.path), watch, env["PATH"], seats=seats),
            )
            report = read_report(step.report, watch.report_file)
        for log in (watch.transcript, stderr_log(watch.transcript)):
            mask_file(log, watch.env.values())
        return AgentRun(
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            stopped=done.stopped,
            report=report,
            transcript=str(watch.transcript),
            tail=masked(done.tail, watch.env.values()),
            complaint=_last_line(stderr_log(watch.transcript), watch.log_limit),
            seconds=done.seconds,
            confinement=self.confinement,
            broken=self._broken(done),
        )

    def _broken(self, done: process.Finished) -> str:
        """What a shell says of a program that it can't start holds for every story."""
        if done.exit_code not in CANNOT_START:
            return ""
        return (
            f"the agent command {shlex.join(self.argv)} exits {done.exit_code}: a program that it starts is not there "
            "or not executable, at least in its sandbox. Correct [agent] command, or install what it needs."
        )

    def environment(self, brief: Brief, watch: Watch, step: StepFolder) -> dict[str, str]:
        """An allow-list: nothing of the user's secrets, nothing that leads to our database or data folder."""
        given = {name: value for name, value in watch.env.items() if name not in OURS}
        return {
            **{name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            "PATH": absolute_path(os.environ, self._start_folder),
            **given,
            **watch.checkout,
            "TERM": "dumb",
            "HOME": str(self._home(brief)),
            "TMPDIR": str(step.temporary),
            "DAMASCUS_ROLE": brief.role,
            "DAMASCUS_BRIEF": str(watch.brief_file.absolute()),
            "DAMASCUS_REPORT": str(step.report),
        }

    def _home(self, brief: Brief) -> Path:
        home = self._homes / brief.story_id
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return home

    @contextmanager
    def _step_folder(self) -> Iterator[StepFolder]:
        with tempfile.TemporaryDirectory(prefix="step-", dir=self._homes, ignore_cleanup_errors=True) as name:
            step = StepFolder(Path(name))
            step.temporary.mkdir()
            yield step

    def _cage(self, workspace: Path, own: tuple[Path, ...], watch: Watch, path: str, *, seats: Seats) -> Cage:
        named = (*readable(self.argv, path), *to_read(watch, workspace))
        return Cage(self._level, write=(*own, *to_write(watch, workspace)), read=named, seats=seats)


def make(setup: AgentSetup) -> CommandAgent:
    return CommandAgent(setup.command, start_folder=setup.start_folder, homes=setup.homes, level=setup.level)


def readable(argv: Sequence[str], path: str) -> tuple[Path, ...]:
    """What a command's own words name: its program, with its interpreter and the prefixes of both, and every absolute
    path among the rest, also as `--option=/path`."""
    found = [name for program in _programs(argv[0], path) for name in around_program(program)]
    found += [word for each in argv[1:] for word in (each, each.partition("=")[2]) if os.path.isabs(word)]
    return tuple(Path(name) for name in dict.fromkeys(found) if os.path.exists(name) and not too_much(name))


def _programs(program: str, path: str) -> Iterator[str]:
    """The program and, where it is a script, what its first line says: `#!/usr/bin/env python3` names two."""
    found = shutil.which(program, path=path)
    if found is None:
        return
    yield found
    try:
        with open(found, "rb") as file:
            line = file.readline(256) if file.read(2) == b"#!" else b""
    except OSError:
        return
    for word in line.decode(errors="replace").split():
        if not word.startswith("-") and (named := shutil.which(word, path=path)):
            yield named


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
        found[0] = _from(start_folder, found[0])
    if INTERPRETER.fullmatch(os.path.basename(found[0])):
        _resolve_script(found, start_folder.absolute())
    return found


def _from(start_folder: Path, word: str) -> str:
    """Without `..`: in the sandbox there is the file, and not what leads to it from here."""
    path = start_folder.absolute() / word
    return str(path if ".." not in path.parts else path.parent.resolve() / path.name)


def _resolve_script(found: list[str], start_folder: Path) -> None:
    for n, word in enumerate(found[1:], start=1):
        if word in ("-c", "-m", "-e", "-"):
            return
        if not word.startswith("-"):
            if (start_folder / word).is_file():
                found[n] = _from(start_folder, word)
            return


def absolute_path(environ: Mapping[str, str], start_folder: Path) -> str:
    """PATH with no entry that would mean a folder of the workspace."""
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(str(start_folder.absolute() / entry) for entry in entries if entry)


def _last_line(log: Path, limit: int) -> str:
    """There a program that gives up mostly says why."""
    lines = (read_plain(log, limit) or b"").decode("utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
