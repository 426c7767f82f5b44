"""Git, run with our own environment and an explicit git dir.

We never let git discover a repository in a folder that an agent can write: a replaced `.git` there would run
its fsmonitor or hooks as us. The user's git config is not ours either: no signing, no aliases, our identity.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from damascus.domain.errors import DamascusError, GitError, TransientError
from damascus.domain.failures import transient_git_output

IDENTITY = {
    "GIT_AUTHOR_NAME": "Damascus",
    "GIT_AUTHOR_EMAIL": "damascus@localhost",
    "GIT_COMMITTER_NAME": "Damascus",
    "GIT_COMMITTER_EMAIL": "damascus@localhost",
}
SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.autocrlf=false",
    "core.precomposeUnicode=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    "advice.detachedHead=false",
)
CALL_LIMIT = 300.0


@dataclass(frozen=True)
class GitResult:
    """Exit code and output of one git process."""

    code: int
    raw: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", errors="surrogateescape").rstrip("\n")


def isolated_environment(safe_directories: tuple[str, ...] = ()) -> dict[str, str]:
    """The environment of every local git: nothing of the user's but PATH, TMPDIR and the locale."""
    env = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG") if key in os.environ}
    env |= IDENTITY
    env |= {
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }
    pairs = [item.split("=", 1) for item in SAFE] + [["safe.directory", path] for path in safe_directories]
    env["GIT_CONFIG_COUNT"] = str(len(pairs))
    for n, (key, value) in enumerate(pairs):
        env[f"GIT_CONFIG_KEY_{n}"], env[f"GIT_CONFIG_VALUE_{n}"] = key, value
    return env


@dataclass(frozen=True)
class Git:
    """One repository, named by its git dir; work tree and index are given per call."""

    git_dir: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, git_dir: Path, *trusted: Path) -> "Git":
        paths = tuple(str(path) for path in (git_dir, *trusted))
        return cls(git_dir, isolated_environment(paths))

    def run(
        self,
        *args: str,
        data: bytes | None = None,
        work_tree: Path | None = None,
        index: Path | None = None,
        check: bool = True,
    ) -> GitResult:
        """Run git; `check` raises TransientError or GitError by git's own words (failures.FailureKind)."""
        env = dict(self.environment) | {"GIT_DIR": str(self.git_dir)}
        if work_tree is not None:
            env["GIT_WORK_TREE"] = str(work_tree)
        if index is not None:
            env["GIT_INDEX_FILE"] = str(index)
        cwd = work_tree if work_tree is not None else self.git_dir
        result = run_git(args, env, cwd, data)
        if check and result.code != 0:
            raise_for(args, result)
        return result

    def out(
        self, *args: str, data: bytes | None = None, work_tree: Path | None = None, index: Path | None = None
    ) -> str:
        return self.run(*args, data=data, work_tree=work_tree, index=index).text


def run_git(
    args: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path | None,
    data: bytes | None = None,
    limit: float = CALL_LIMIT,
) -> GitResult:
    try:
        done = subprocess.run(
            ["git", *args], executable=_program(env.get("PATH")), input=b"" if data is None else data,
            capture_output=True, env=dict(env), cwd=cwd, timeout=limit, check=False,
            start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TransientError(f"git {args[0]} took over {limit:.0f} s") from None
    except FileNotFoundError as err:
        if err.filename != "git":  # the folder it is to run in
            raise
        raise DamascusError("git is not on the PATH. Install it, or put its folder there.") from None
    return GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", errors="replace"))


@lru_cache(maxsize=8)
def _program(path: str | None) -> str:
    """Looked for once: a long PATH costs every process a try in each of its folders."""
    return shutil.which("git", path=path) or "git"


def raise_for(args: tuple[str, ...], result: GitResult) -> None:
    if transient_git_output(result.stderr):
        raise TransientError(f"git {args[0]}: {result.stderr.strip().splitlines()[-1]}")
    raise GitError(args, result.code, result.stderr)
