"""The walk of one story: which files of src/damascus does a reader pass from claim to done, and in which order?

    tools/walk            the files in the order of first entry, phase by phase, and the totals
    tools/walk --stops    every function as well
    tools/walk --behind   also what lies behind the doors
    tools/walk --json     all of it for programs
    tools/walk --write    the totals into ARCHITECTURE.md, between its markers

One story of the demo is taken to main in a throw-away repository, with a command agent, the local forge and every gate
that is on by default, while every call in the story's threads is recorded: the claim, the slot that carries it and the
threads that the slot starts.

    flow     a file of engine/: it tells what happens
    door     a file elsewhere that the flow calls itself: git/mirror.py, a gate, a domain rule
    behind   what a door calls in turn; a reader who trusts the door needn't open it

The path that is counted is flow and doors. The heartbeat, housekeeping and the display are not on it and are counted
apart. Code in other processes (the keeper, the scanner's child, a test runner) is not seen.
"""

import argparse
import inspect
import json
import os
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from damascus.app import App
from damascus.assembly import Choice, make_worker
from damascus.cli import demo, demo_stories
from damascus.domain.spec import parse_spec
from damascus.engine import lifecycle
from damascus.engine.tools import nothing
from damascus.store import leases, queueing

ROOT = Path(__file__).resolve().parents[1]
SOURCE = str(ROOT / "src" / "damascus") + os.sep
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- walk: written by tools/walk --write -->", "<!-- end of walk -->"
STORY = "D-4"
CLAIM = "claim"
FLOW = "engine/"
AGENT = """\
import json, pathlib, sys
for name, text in json.loads(pathlib.Path(sys.argv[1]).read_text()).items():
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text)
"""


@dataclass
class Stops:
    """Functions in the order in which they were entered first."""

    seen: dict[tuple[str, str], None] = field(default_factory=dict)

    def enter(self, code: CodeType) -> None:
        self.seen.setdefault((file_of(code), code.co_qualname), None)

    def files(self) -> list[str]:
        return list(dict.fromkeys(file for file, _ in self.seen))

    def hops(self) -> int:
        """How often the next stop is in another package."""
        rooms = [file.rpartition("/")[0] for file, _ in self.seen]
        return sum(one != other for one, other in pairwise(rooms))


def file_of(code: CodeType) -> str:
    return code.co_filename.removeprefix(SOURCE)


def is_flow(file: str) -> bool:
    return file.startswith(FLOW)


def is_ours(code: CodeType) -> bool:
    """A function of the tree: not another's, and not the body of a module or a class."""
    return code.co_filename.startswith(SOURCE) and bool(code.co_flags & inspect.CO_OPTIMIZED)


def callers(frame: FrameType) -> Iterator[CodeType]:
    above = frame.f_back
    while above is not None:
        if is_ours(above.f_code):
            yield above.f_code
        above = above.f_back


@dataclass
class Walked:
    """A stretch of the story: the path that a reader follows, and everything that was entered."""

    path: Stops = field(default_factory=Stops)
    all: Stops = field(default_factory=Stops)

    def enter(self, code: CodeType, caller: CodeType | None) -> None:
        self.all.enter(code)
        if is_flow(file_of(code)) or (caller is not None and is_flow(file_of(caller))):
            self.path.enter(code)


class Recorder:
    """Follows the calls of every thread; `phase` is the one that the story is in.

    No lock: a process that is forked while another thread holds it would wait for ever. Single calls of dict and set
    are enough.
    """

    def __init__(self) -> None:
        self.whole = Walked()
        self.phases: dict[str, Walked] = {}
        self.beside = Stops()
        self.phase = CLAIM
        self.scripts = {script.__code__: phase.value for phase, script in lifecycle.SCRIPTS.items()}
        self.on_path: set[int] = set()

    def called(self, frame: FrameType, event: str, arg: object) -> Any:
        """What sys.settrace calls for every call; a frame is followed to its end only where this returns a function."""
        code = frame.f_code
        if not is_ours(code):
            return None
        me = threading.get_ident()
        begins = me not in self.on_path and self._begins(code)
        if begins:
            self.on_path.add(me)
            for above in reversed([one for one in callers(frame) if is_flow(file_of(one))]):
                self._enter(above, None)
        if me in self.on_path:
            self.phase = self.scripts.get(code, self.phase)
            self._enter(code, next(callers(frame), None))
        else:
            self.beside.enter(code)
        return self._ends if begins else None

    def _begins(self, code: CodeType) -> bool:
        """The path begins with the claim and goes on where the story is carried. A later claim is another story's."""
        return code is lifecycle.carry.__code__ or (code is leases.claim.__code__ and self.phase == CLAIM)

    def _enter(self, code: CodeType, caller: CodeType | None) -> None:
        self.whole.enter(code, caller)
        self.phases.setdefault(self.phase, Walked()).enter(code, caller)

    def _ends(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "return":
            self.on_path.discard(threading.get_ident())
        return self._ends

    @contextmanager
    def following(self) -> Iterator[None]:
        """A thread that a thread on the path starts is on it as well."""
        run, recorder = threading.Thread.start, self

        def start(thread: threading.Thread) -> None:
            if threading.get_ident() in recorder.on_path:
                thread.run = recorder.also(thread.run)  # type: ignore[method-assign]
            run(thread)

        threading.Thread.start = start  # type: ignore[method-assign,assignment]
        os.register_at_fork(after_in_child=lambda: sys.settrace(None))  # another process is not the story's thread
        threading.settrace(self.called)
        sys.settrace(self.called)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)
            threading.Thread.start = run  # type: ignore[method-assign]

    def also(self, run: Callable[[], None]) -> Callable[[], None]:
        def on_path() -> None:
            self.on_path.add(threading.get_ident())
            try:
                run()
            finally:
                self.on_path.discard(threading.get_ident())

        return on_path


# ── the story ─────────────────────────────────────────────────────────────────────────────────────────


def walk(folder: Path, database_url: str | None = None) -> Recorder:
    """One story to main in `folder`, recorded. The embedded database is started there if none is named."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("DAMASCUS_")}
    environ["DAMASCUS_HOME"] = str(folder / "home")
    app = App(environ | ({"DAMASCUS_DATABASE_URL": database_url} if database_url else {}))
    try:
        if app.server is not None:
            app.server.ensure_running()
        return _walk(app, folder)
    finally:
        app.database.close()
        if app.server is not None:
            app.server.stop()


def _walk(app: App, folder: Path) -> Recorder:
    repository = demo.make_repository(folder)
    row, path = app.init_project(repository), f"specs/{STORY}.md"
    raw = (repository / path).read_bytes()
    queueing.add(app.database, row, [queueing.NewStory(parse_spec(raw, path), raw, path)], "feat/", 5)
    choice = Choice(slots=1, agent="command", agent_command=agent(folder))
    worker = make_worker(app, app.project(repository), choice)
    recorder = Recorder()
    with recorder.following():
        worker.run(nothing)
    [story] = app.database.all("demo_facts", project=row.id)
    if story["phase"] != "done":
        raise SystemExit(f"the story did not reach main: it is in {story['phase']}")
    return recorder


def agent(folder: Path) -> str:
    """A command agent that writes what the demo's scripted agent would."""
    wanted = demo_stories.SCRIPT[STORY][-1]
    program, files = folder / "agent.py", folder / "files.json"
    program.write_text(AGENT)
    files.write_text(json.dumps(wanted["write"]))
    return shlex.join([sys.executable, str(program), str(files)])


# ── what it came to ───────────────────────────────────────────────────────────────────────────────────


def totals(recorder: Recorder) -> dict[str, int]:
    build, whole = recorder.phases["build"], recorder.whole
    return {
        "build": len(build.path.files()),
        "build_flow": len(list(filter(is_flow, build.path.files()))),
        "claim_to_done": len(whole.path.files()),
        "claim_to_done_flow": len(list(filter(is_flow, whole.path.files()))),
        "functions": len(whole.path.seen),
        "hops": whole.path.hops(),
        "behind": len(set(whole.all.files()) - set(whole.path.files())),
        "beside": len(set(recorder.beside.files()) - set(whole.all.files())),
    }


def as_json(recorder: Recorder) -> str:
    def told(walked: Walked) -> dict[str, Any]:
        behind = [file for file in walked.all.files() if file not in walked.path.files()]
        return {
            "files": walked.path.files(),
            "hops": walked.path.hops(),
            "stops": [f"{file}:{name}" for file, name in walked.path.seen],
            "behind": behind,
        }

    phases = {name: told(walked) for name, walked in recorder.phases.items()}
    return json.dumps({"totals": totals(recorder), **told(recorder.whole), "phases": phases}, indent=2)


def as_text(recorder: Recorder, *, stops: bool, behind: bool) -> str:
    lines: list[str] = []
    met: set[str] = set()
    for name, walked in recorder.phases.items():
        shown = walked.all if behind else walked.path
        path = walked.path.files()
        lines.append(f"{name}: {len(path)} files, {walked.path.hops()} hops between packages")
        for file in shown.files():
            kind = "flow" if is_flow(file) else "door" if file in path else "behind"
            lines.append(f"  {' ' if file in met else '+'} {kind:7}{file}")
            if stops:
                lines += [f"             {function}" for at, function in shown.seen if at == file]
        met |= set(shown.files())
    return "\n".join([*lines, "", "+ = not met in an earlier phase", sentence(totals(recorder))])


def sentence(found: dict[str, int]) -> str:
    return (
        f"Build: {found['build']} files ({found['build_flow']} of the flow). Claim to done: {found['claim_to_done']} "
        f"files ({found['claim_to_done_flow']} of the flow), {found['functions']} functions, {found['hops']} hops "
        f"between packages. Behind the doors: {found['behind']} files. Beside the story: {found['beside']}."
    )


def write(page: Path, recorder: Recorder) -> None:
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page.name} has no place for it: {BEGIN} … {END}")
    page.write_text(f"{before}{BEGIN}\n{sentence(totals(recorder))}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/walk", description="The files that one story passes.")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--stops", action="store_true", help="every function as well")
    parser.add_argument("--behind", action="store_true", help="also what lies behind the doors")
    parser.add_argument("--write", action="store_true", help="the totals into ARCHITECTURE.md")
    parser.add_argument("--database-url", help="a migrated database; else the embedded one is started")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="damascus-walk-") as folder:
        recorder = walk(Path(folder), given.database_url)
    if given.write:
        write(PAGE, recorder)
    print(as_json(recorder) if given.json else as_text(recorder, stops=given.stops, behind=given.behind))


if __name__ == "__main__":
    main()
