"""The real Gitea with its real runner, on loopback. A test asks for it by a fixture's name, nothing to import:

    def test_a_push_starts_ci(real_gitea: GiteaServer, tmp_path: Path) -> None:
        planted = plant(real_gitea, tmp_path, {".gitea/workflows/ci.yml": WORKFLOW})
        planted.git("push", "origin", "HEAD:refs/heads/mq/1")

- `real_gitea`   one server with a runner `one` for all tests of a process; each test plants a repository of its own
- `older_gitea`  the same with the oldest Gitea that is built (1.25.5)
- `gitea_alone`  a server for this one test, to be restarted and killed; a job of a dead runner fails within 20 s
- `radicle`      the folder of `rad` and `git-remote-rad`, which a runner's jobs can execute:
                 `server.start_runner(environ={"PATH": f"{radicle}:{os.environ['PATH']}"})`

`server.url`, `.token`, `.user`, `.api("GET", "/repos/…")`, `.git_environment()`, `.start_runner("two")`,
`.stop_runner("one", kill=True)`, `.stop_gitea(kill=True)`, `.restart()`; see damascus.trial_forge.server.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from damascus.domain.errors import DamascusError
from damascus.trial_forge.programs import OLDER, VERSION, cache_folder, copied, find_programs
from damascus.trial_forge.server import GiteaServer
from tests import databases
from tests.waiting import eventually

BUILT = cache_folder(os.environ)
"""For tests that give a command another HOME: DAMASCUS_FORGE_DIR."""
ZOMBIE_SECONDS = 10
MISSING = {VERSION: "Gitea is missing: make forge", OLDER: "the older Gitea is missing: make forge forge-older"}
WORKFLOW = """\
on:
  push:
    branches: [main, "feat/**", "mq/**"]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: |
          git init -q .
          git fetch -q --depth 1 "${{ github.server_url }}/${{ github.repository }}" "${{ github.sha }}"
          git checkout -q FETCH_HEAD
          sh ./check
"""
"""One job `test` that runs the file `check` of exactly the pushed commit."""


@pytest.fixture(scope="session")
def real_gitea() -> Iterator[GiteaServer]:
    with started(VERSION) as server:
        server.start_runner()
        yield server


@pytest.fixture(scope="session")
def older_gitea() -> Iterator[GiteaServer]:
    with started(OLDER) as server:
        server.start_runner()
        yield server


@pytest.fixture
def gitea_alone() -> Iterator[GiteaServer]:
    with started(VERSION) as server:
        yield server


@pytest.fixture(scope="session")
def radicle() -> Path:
    built = BUILT / "radicle" / "bin"
    if not os.access(built / "git-remote-rad", os.X_OK):
        pytest.skip("Radicle is missing: make radicle")
    if os.geteuid() != 0:
        return built
    return copied({"bin": built}, f"radicle-{(built / 'rad').stat().st_mtime_ns:x}") / "bin"


@contextmanager
def started(version: str) -> Iterator[GiteaServer]:
    """In the run's own folder, which every account may pass; it ends with this process, however that ends."""
    try:
        programs = find_programs(os.environ, version)
    except DamascusError:
        pytest.skip(MISSING[version])
    folder = Path(os.environ[databases.FOLDER]) / f"gitea-{version}-{uuid4().hex[:8]}"
    server = GiteaServer.start(folder, programs, tied=True, zombie_seconds=ZOMBIE_SECONDS)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Planted:
    """A repository on the server, and a clone of it whose git may push."""

    server: GiteaServer
    name: str
    folder: Path

    @property
    def full_name(self) -> str:
        return f"{self.server.user}/{self.name}"

    @property
    def url(self) -> str:
        """As [forge] url wants it."""
        return f"{self.server.url}/{self.full_name}"

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "HEAD")

    def known(self, branch: str = "main") -> bool:
        """Whether the forge's API shows the branch where our clone is."""
        path = f"/repos/{self.full_name}"
        if self.server.api("GET", path).json()["empty"]:
            return False  # asked for a branch now, Gitea answers 500
        shown = self.server.api("GET", f"{path}/branches/{branch}", allowed=(404,)).json()
        return bool(shown.get("commit", {}).get("id") == self.tip)

    def git(self, *words: str) -> str:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in IDENTITY.items()},
            **self.server.git_environment(),
        }
        done = subprocess.run(["git", *words], cwd=self.folder, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str], message: str = "change") -> str:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.tip


IDENTITY = {"NAME": "Ada", "EMAIL": "ada@example.invalid"}


def plant(server: GiteaServer, folder: Path, files: Mapping[str, str]) -> Planted:
    """A new repository whose main holds `files`, cloned to `folder`/<name>. The forge takes notice of a push later than
    git says it is done: it is waited for."""
    name = f"repo-{uuid4().hex[:8]}"
    server.create_repository(name, empty=True)
    planted = Planted(server, name, folder / name)
    planted.folder.mkdir()
    planted.git("init", "--quiet", "-b", "main")
    planted.git("remote", "add", "origin", f"{planted.url}.git")
    planted.commit(files, "first")
    planted.git("push", "--quiet", "origin", "main")
    eventually(planted.known, 30, "the forge's knowledge of main")
    return planted
