"""`forge try`: a Gitea with a runner in the data folder, and the current repository on it."""

import fcntl
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.app import App
from damascus.domain.config import parse_config
from damascus.domain.errors import DamascusError
from damascus.domain.scope import SETTINGS_FILE
from damascus.git.commands import run_git
from damascus.git.remote import with_settings
from damascus.git.repository import Repository
from damascus.people.acts import Committing
from damascus.people.forge_files import Ci, FileEdit, add_forge, add_workflow, jobs_of
from damascus.people.setting_up import found_in
from damascus.trial_forge.programs import find_programs, reachable_folder
from damascus.trial_forge.server import GiteaServer

SCOPES = ("write:repository", "write:issue", "read:user")
"""The least that Damascus works with (docs/forges.md)."""
MESSAGE = "damascus: worked on a forge"


@dataclass(frozen=True)
class Place:
    """Below the data folder: the token, and the server's own folder where its account can enter."""

    home: Path

    @property
    def folder(self) -> Path:
        return self.home / "forge"

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One command at a time: the lock dies with its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def server(self, environ: Mapping[str, str]) -> GiteaServer | None:
        """Whatever was started here before, running or not."""
        return GiteaServer.open(reachable_folder(self.folder), find_programs(environ))


@dataclass(frozen=True)
class Ready:
    """A running forge, and how long it took."""

    server: GiteaServer
    seconds: float


@contextmanager
def started(place: Place, environ: Mapping[str, str], here: Path, port: int) -> Iterator[Ready]:
    """The one that runs already, else a new one, which is ended again if the repository can't be brought there."""
    Repository.discover(here)
    with place.alone():
        found = place.server(environ)
    running = found is not None and found.running
    ready = _start(place, environ, port)
    try:
        yield ready
    except BaseException:
        if not running:
            stop(place, environ)
        raise


def _start(place: Place, environ: Mapping[str, str], port: int) -> Ready:
    begun = time.monotonic()
    programs = find_programs(environ)
    with place.alone():
        found = place.server(environ)
        running = found if found and found.running else None
        if running and port not in (0, running.settings.port):
            raise DamascusError(f"the forge is already running at {running.url}. To move it: damascus forge stop")
        server = running or GiteaServer.start(reachable_folder(place.folder), programs, port=port)
        if not any(child.alive for child in server.runners.values()):
            server.start_runner()
        _keep_token(place, server)
    return Ready(server, time.monotonic() - begun)


def stop(place: Place, environ: Mapping[str, str]) -> bool:
    with place.alone():
        found = place.server(environ)
        was = found is not None and (found.running or any(child.alive for child in found.runners.values()))
        if found:
            found.stop()
    return was


def _keep_token(place: Place, server: GiteaServer) -> None:
    """Made once; readable by its owner alone."""
    if not place.token_file.exists():
        server.write_private(place.token_file, server.new_token(SCOPES) + "\n")


# ── the repository ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class OnForge:
    """The current repository, on the forge."""

    url: str
    name: str
    main: str
    files: tuple[FileEdit, ...]
    committed: bool
    steps: str
    """What the user has to do so that the files hold; "" when nothing is left."""
    pushed: bool
    registered: bool
    """Whether `damascus init` was here."""


def bring(place: Place, ready: Ready, app: App, name: str, *, here: Path, commit: Committing | None) -> OnForge:
    """Repository, settings and workflow, then main: the first push has its CI."""
    server, environ = ready.server, app.environ
    repository = Repository.discover(here)
    found = found_in(repository, environ)
    file = repository.top / SETTINGS_FILE
    config = parse_config(file.read_text("utf-8") if file.exists() else "", environ)
    called = name or repository_name(repository.top.name)
    url = f"{server.url}/{server.user}/{called}"
    settings = add_forge(repository.top, url, place.token_file)
    workflow = add_workflow(
        repository.top, Ci(jobs_of(config, found.command), config.workspace.setup),
        found.main, config.project.branch_prefix,
    )  # fmt: skip
    server.create_repository(called, empty=True, private=True, main=found.main)
    steps = _uncommitted(repository, found.main, [settings.path, workflow.path])
    if commit and steps:
        _commit(repository, found.main, [settings.path, workflow.path], steps, commit)
    pushed = push_main(repository, server, url, found.main)
    left, known = "" if commit else steps, repository.project_uuid(create=False) is not None
    return OnForge(
        url, called, found.main, (settings, workflow), commit is not None and bool(steps), left, pushed, known
    )


def repository_name(folder: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-.") or "project"
    return re.sub(r"\.(git|wiki|rss|atom)$", "", name)


def _uncommitted(repository: Repository, main: str, paths: list[str]) -> str:
    """The commands that bring these paths to main; "" where it has them."""
    listed = repository.git.out("ls-tree", "-r", f"refs/heads/{main}", "--", *paths)
    here = repository.git.out(
        "hash-object", "--no-filters", "--stdin-paths",
        data="\n".join(str(file) for file in _files(repository.top, paths)).encode() + b"\n",
    ).split()  # fmt: skip
    if all(blob in listed for blob in here):
        return ""
    switch = "" if repository.checked_out_at(main) else f"git switch {shlex.quote(main)} && "
    words = " ".join(shlex.quote(path) for path in paths)
    return f"{switch}git add {words} && git commit -m {shlex.quote(MESSAGE)} -- {words}"


def _files(top: Path, paths: list[str]) -> list[Path]:
    found = [entry for path in paths for entry in (top / path, *(top / path).rglob("*"))]
    return [entry for entry in found if entry.is_file()]


def _commit(repository: Repository, main: str, paths: list[str], steps: str, commit: Committing) -> None:
    """The user's git, with the user's identity and hooks; only these files, whatever else is staged."""
    if repository.checked_out_at(main) != repository.top:
        raise DamascusError(f"{main} is not checked out here, so nothing was committed. Do it there: {steps}")
    if why := commit(repository.top, paths, MESSAGE):
        raise DamascusError(f"git could not commit: {why} Fix that, then: {steps} && damascus forge try")


def push_main(repository: Repository, server: GiteaServer, url: str, main: str) -> bool:
    """Forward only. False where the forge is ahead: stories have landed there."""
    env = {**with_settings(repository.git.environment, server.git_settings()), "GIT_DIR": str(repository.git_dir)}
    ref = f"refs/heads/{main}"
    done = run_git(("push", "--quiet", "--no-verify", f"{url}.git", f"{ref}:{ref}"), env, repository.git_dir)
    if done.code == 0:
        return True
    if re.search(r"fetch first|non-fast-forward", done.stderr):
        return False
    why = " ".join(done.stderr.split())[-300:]
    raise DamascusError(f"{main} could not be pushed to {url}: {why}")
