"""`[workspace]`: what the project wants in every checkout before an agent or a test runs there.

`setup` runs once per state of the base's lock files, in a template checkout of its own; what it produced is
copied into each new checkout, so that nobody can change it for another. `copy` brings untracked files of the
user's folder. Both come from main, never from a candidate.

The command is confined in files (packages bring scripts of their own), with a HOME that stays beside what it made, and
has the network: installing packages is what it is for. Its agent's network is another matter.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from damascus.domain.config import Config
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha
from damascus.git.mirror import Mirror
from damascus.system import process
from damascus.system.sandbox import Cage, Level, detect

LOCK_FILES = (
    "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "requirements-dev.txt", "pyproject.toml",
    "setup.py", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "package.json", "go.sum", "go.mod", "Cargo.lock",
    "Cargo.toml", "Gemfile.lock", "composer.lock",
)  # fmt: skip
KEEP = ("PATH", "LANG", "SSL_CERT_FILE", "PIP_INDEX_URL", "PIP_CERT", "NPM_CONFIG_REGISTRY")


class WorkspaceSetup:
    """Lays what [workspace] names into a checkout."""

    def __init__(
        self,
        mirror: Mirror,
        folder: Path,
        user_top: Path,
        stopping: Callable[[], bool],
        *,
        sandbox: Level | None = None,
        may_lack: bool = False,
    ) -> None:
        """`user_top` is where `copy` finds its files; `may_lack`: a host without the user's folder may have none."""
        self.sandbox = sandbox
        self.may_lack = may_lack
        self.mirror = mirror
        self.folder = folder
        self.user_top = user_top
        self.stopping = stopping

    def prepare(self, checkout: Path, base: Sha, config: Config) -> None:
        if config.workspace.setup:
            self._lay(self._template(base, config), checkout)
        for name in config.workspace.copy_files:
            self._copy_file(name, checkout)

    def _copy_file(self, name: str, checkout: Path) -> None:
        source, target = self.user_top / name, checkout / name
        if self.may_lack and not source.exists():
            return
        if ".." in Path(name).parts or name.startswith("/") or not source.is_file():
            raise DamascusError(
                f"[workspace] copy names {name}, no file in {self.user_top}. Create it or correct damascus.toml."
            )
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)

    def _lay(self, template: Path, checkout: Path) -> None:
        for name in json.loads((template / "produced.json").read_text()):
            source, target = template / "tree" / name, checkout / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cp", "-a", str(source).rstrip("/"), str(target).rstrip("/")], check=True)

    def _template(self, base: Sha, config: Config) -> Path:
        place = self.folder / self._key(base, config)
        if (place / "produced.json").exists():
            return place
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.mirror.lock_file("setup"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (place / "produced.json").exists():
                self._build(place, base, config)
        return place

    def _key(self, base: Sha, config: Config) -> str:
        state = hashlib.sha256(config.workspace.setup.encode())
        for name in LOCK_FILES:
            state.update(name.encode() + b"\0" + (self.mirror.read(base, name) or b"") + b"\0")
        return state.hexdigest()[:24]

    def _build(self, place: Path, base: Sha, config: Config) -> None:
        shutil.rmtree(place, ignore_errors=True)
        tree = place / "tree"
        tree.mkdir(parents=True)
        self.mirror.checkout(base, tree)
        before = _entries(tree)
        done = self._run(place, config)
        if done.exit_code != 0:
            raise DamascusError(
                f"the set-up command of [workspace] failed (exit {done.exit_code}): {config.workspace.setup!r}. "
                f"See {place / 'setup.log'}; correct it on main and retry."
            )
        produced = sorted(_entries(tree) - before)
        roots = [p for p in produced if not any(p != q and p.startswith(q + "/") for q in produced)]
        aside = place / "produced.json.new"
        aside.write_text(json.dumps(roots))
        aside.rename(place / "produced.json")

    def _run(self, place: Path, config: Config) -> process.Finished:
        own = {"HOME": place / "home", "TMPDIR": place / "tmp"}
        for folder in own.values():
            folder.mkdir()
        given = {key: os.environ[key] for key in (*KEEP, *config.workspace.env) if key in os.environ}
        return process.run(
            process.shell(config.workspace.setup),
            cwd=place / "tree",
            env=given | {name: str(folder) for name, folder in own.items()},
            log=place / "setup.log",
            timeout=config.workspace.setup_timeout_seconds,
            stopping=self.stopping,
            cage=Cage(self.sandbox or detect(), write=(place / "tree", *own.values()), network=True),
        )


def _entries(tree: Path) -> set[str]:
    found = set()
    for folder, folders, files in os.walk(tree):
        found |= {str(Path(folder, name).relative_to(tree)) for name in (*folders, *files)}
    return found
