"""damascus demo: five stories from spec files to main, with no key, no server and no network."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from damascus.agents.scripted import ScriptedAgent
from damascus.app import App, Project
from damascus.assembly import Choice, make_worker
from damascus.cli.demo_stories import PERSONS_COMMIT, REPOSITORY, SCRIPT, SPECS
from damascus.cli.say import say, say_wrapped
from damascus.cli.tables import table
from damascus.cli.working import work
from damascus.domain.errors import DamascusError
from damascus.domain.ports import Agent, AgentRun, Brief, Watch
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase
from damascus.store import artifacts, queueing

SLOTS = 2
PERSON = ("-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "-c", "commit.gpgsign=false")


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Leave everything in this new folder to look at.")
    ] = None,
    web: Annotated[bool, typer.Option("--web", help="Watch it in a browser, which goes on until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of the window; 0 takes a free one.")] = 0,
) -> int:
    """Take five stories to main in a sample repository; a scripted agent plays the coding agent.

    One goes through the full flow with critics, one fails its tests first, one meets a person's commit, one sits out an
    outage, one waits for another's files.

    \b
    Example:  damascus demo --keep ./demo
              damascus demo --web
    """
    folder = _folder(keep)
    try:
        return _run(folder, kept=keep is not None, port=port if web else None)
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="damascus-demo-"))
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise DamascusError(f"{keep} exists and is not empty. Name a new folder: damascus demo --keep DIR")
    keep.mkdir(parents=True, exist_ok=True)
    return keep.resolve()


def _run(folder: Path, *, kept: bool, port: int | None) -> int:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("DAMASCUS_")}
    app = App(environ | {"DAMASCUS_HOME": str(folder / "home")})
    assert app.server is not None
    try:
        server = app.server.ensure_running()
        repository = make_repository(folder)
        began = time.monotonic()
        project = _queue(app, repository)
        title = (
            f"Damascus demo · 5 stories, {SLOTS} slots · scripted agent · local forge · "
            f"PostgreSQL {server.version.split('.')[0]}, embedded, ready in {server.seconds:.1f} s\n"
        )
        with _window(App(app.environ), repository, port) as stays_open:
            _work(app, project, repository, title)
            code = _tell(app, project, folder, (time.monotonic() - began, kept))
            stays_open()
        return code
    finally:
        app.database.close()
        app.server.stop()


@contextmanager
def _window(app: App, repository: Path, port: int | None) -> Iterator[Callable[[], None]]:
    """Where one is wanted: open while the demo runs, and after it until Ctrl-C. It waits for nobody's database."""
    if port is None:
        yield lambda: None
        return
    web = import_module("damascus.cli.web")  # a web server: the demo without it needs none
    serving = web.opened_window(app, app.project(repository), web.Options(port=port))
    try:
        yield lambda: web.until_ended(f"The window stays open until Ctrl-C: {serving.one_time_link()}")
    finally:
        serving.stop()
        app.database.close()


def make_repository(folder: Path) -> Path:
    repository = folder / "textkit"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    specs = {f"specs/{story}.md": text for story, text in SPECS.items()}
    commit(repository, {**REPOSITORY, **specs}, "textkit, and five stories for it")
    return repository


def git(repository: Path, *args: str) -> str:
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(repository), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *PERSON, *args], cwd=repository, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise DamascusError(f"git {args[0]} failed in the demo's repository: {done.stderr.strip()}")
    return done.stdout.strip()


def commit(repository: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(repository, "add", "--", *files)
    git(repository, "commit", "-q", "-m", message, "--", *files)


def _queue(app: App, repository: Path) -> Project:
    row = app.init_project(repository)
    project = app.project(repository)
    stories = []
    for story in SPECS:
        path = f"specs/{story}.md"
        raw = (repository / path).read_bytes()
        stories.append(queueing.NewStory(parse_spec(raw, path), raw, path))
    limits = project.config.limits
    queueing.add(app.database, row, stories, project.config.project.branch_prefix, limits.budget_cycles)
    return project


class WithAPerson:
    """The scripted agent, and a person who commits to main while D-3 is at work."""

    def __init__(self, agent: Agent, repository: Path) -> None:
        self.agent = agent
        self.repository = repository
        self.name = agent.name
        self.confinement = agent.confinement

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        done = self.agent.run(brief, workspace, watch)
        if brief.story_id == "D-3" and brief.attempt == 1:
            commit(self.repository, PERSONS_COMMIT, "prices may come as text")
        return done


def _work(app: App, project: Project, repository: Path, title: str) -> None:
    agent = WithAPerson(ScriptedAgent(SCRIPT, state=project.folder / "agent-state"), repository)
    worker = make_worker(app, project, Choice(slots=SLOTS), agent=agent)
    worker.pace = replace(worker.pace, poll=0.05)
    work(app, project, worker, title)


# ── what it came to ───────────────────────────────────────────────────────────────────────────────────


def _tell(app: App, project: Project, folder: Path, how: tuple[float, bool]) -> int:
    seconds, kept = how
    facts = app.database.all("demo_facts", project=project.row.id)
    say()
    head = ("story", "title", "on main as", "pull", "agents", "tests red → green", "time")
    say("\n".join(f"  {line}" for line in table(head, [_row(f) for f in facts])))
    done = [f for f in facts if f["phase"] == Phase.DONE and _is_on_main(project, f["merged_commit"])]
    say()
    say_wrapped(_sentence(facts, len(done), seconds), "bold")
    say_wrapped(_full(app, facts))
    say("Not verified: confinement (the scripted agent runs unconfined).")
    say()
    say(_next(folder, kept))
    return 0 if len(done) == len(facts) == 5 else 1


def _row(fact: dict[str, Any]) -> tuple[str, ...]:
    commit = (fact["merged_commit"] or "–")[:7]
    pull = str(fact["pr_url"] or "–").rsplit("/", 1)[-1]
    proved = str(len(_red_then_green(fact)))
    return (fact["story_id"], fact["title"], commit, pull, str(fact["tries"]), proved, f"{fact['seconds']:.1f} s")


def _red_then_green(fact: dict[str, Any]) -> list[str]:
    """A file that could not even be imported without the code stands for all its tests."""
    red = fact["red"]
    return [test for test in fact["green"] if any(test == r or test.startswith(f"{r}::") for r in red)]


def _is_on_main(project: Project, merged: str | None) -> bool:
    """Asked of the repository, not of the row."""
    if not merged:
        return False
    return project.repository.git.run("merge-base", "--is-ancestor", merged, "refs/heads/main", check=False).code == 0


def _sentence(facts: list[dict[str, Any]], done: int, seconds: float) -> str:
    tries = sum(f["tries"] for f in facts)
    tests = sum(len(_red_then_green(f)) for f in facts)
    conflicts, outages = sum(f["conflicts"] for f in facts), sum(f["outages"] for f in facts)
    return (
        f"{done} of {len(facts)} on main in {seconds:.1f} s. {tries} agents sent, {tests} tests red before and green "
        f"after, {conflicts} conflict with a person's commit resolved, {outages} outage sat out."
    )


def _full(app: App, facts: list[dict[str, Any]]) -> str:
    """The story with critics, in the words of its journal and its receipt."""
    done = app.database.all("steps_of_build", item=facts[0]["id"])
    count = Counter(row["step"] for row in done)
    back, fixed = (
        count["critique_tests"] - 1,
        "a mutant lived until a test was added" if count["fix"] else "no mutant lived",
    )
    told = f"{facts[0]['story_id']} took the full flow: a critic sent its tests back {back} time, {fixed}."
    receipt = artifacts.latest(app.database, facts[0]["id"], "build/build_receipt.json")
    if receipt is None:
        return told
    found = json.loads(receipt.content)
    states = ", ".join(f"{part} {found[part]['status']}" for part in ("tests", "code", "mutation"))
    proved = ", ".join(f"{name} {status}" for name, status in found["requirements"]["fr_status"].items())
    return f"{told}\nIts receipt: {states}; {proved}."


def _next(folder: Path, kept: bool) -> str:
    if not kept:
        return (
            "Next:  damascus demo --web        the same, watched in a browser\n"
            "       damascus demo --keep DIR   the same, left in a folder to look at\n"
            "       docs/start.md              the same on your own repository, five minutes"
        )
    return (
        f"Next:  cd {folder / 'textkit'} && export DAMASCUS_HOME={folder / 'home'}\n"
        "       damascus show D-2          what happened, step by step\n"
        "       damascus receipt D-2       what is proved of it\n"
        "       damascus db stop           when you have seen enough\n"
        "       docs/start.md              the same on your own repository, five minutes"
    )


if __name__ == "__main__":
    sys.exit(demo())
