"""A repository as a user has it, worked in with plain git; and candidates of ours beside it, made in the mirror."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from damascus.domain.ids import Sha, sha
from damascus.git.mirror import Mirror
from damascus.git.trees import TreeEntry

AS_USER = {
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "User",
    "GIT_AUTHOR_EMAIL": "user@example.org",
    "GIT_COMMITTER_NAME": "User",
    "GIT_COMMITTER_EMAIL": "user@example.org",
    "LC_ALL": "C",
    "EDITOR": "true",
}


def git_as_user(folder: Path, *args: str, check: bool = True) -> str:
    env = {"PATH": os.environ["PATH"]} | AS_USER
    done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
    return done.stdout.rstrip("\n")


@dataclass(frozen=True)
class UserRepository:
    """One folder of the user's, main checked out."""

    top: Path

    @classmethod
    def create(cls, top: Path, files: Mapping[str, str]) -> "UserRepository":
        top.mkdir(parents=True)
        git_as_user(top, "init", "-q", "-b", "main")
        repository = cls(top)
        repository.commit(files, "first")
        return repository

    def git(self, *args: str, check: bool = True) -> str:
        return git_as_user(self.top, *args, check=check)

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.top / path).parent.mkdir(parents=True, exist_ok=True)
            (self.top / path).write_text(text)

    def commit(self, files: Mapping[str, str], message: str = "by the user") -> Sha:
        self.write(files)
        self.git("add", "--", *files)
        self.git("commit", "-q", "-m", message)
        return self.at("HEAD")

    def at(self, ref: str) -> Sha:
        return sha(self.git("rev-parse", "--verify", f"{ref}^{{commit}}"))

    def status(self) -> str:
        return self.git("status", "--porcelain", "--untracked-files=all")

    def refs(self) -> dict[str, str]:
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def mirror(self, path: Path) -> Mirror:
        mirror = Mirror.open(path, str(self.top))
        mirror.fetch()
        if mirror.tip("main"):
            mirror.fetch_main("main")
        return mirror


def candidate(mirror: Mirror, base: Sha, files: Mapping[str, str | None], message: str = "a story\n") -> Sha:
    """A commit on top of `base`, in the mirror only and under no ref. None removes a path."""
    changes = {
        path: None if text is None else TreeEntry("100644", mirror.write_blob(text.encode()))
        for path, text in files.items()
    }
    return mirror.commit_tree(mirror.objects.edit(base, changes), [base], message)


def counted_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that gets a line for each git process started by whoever looks up PATH from now on."""
    calls, real = folder / "calls", shutil.which("git")
    shim = folder / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$*" >> {calls}\nexec {real} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    calls.write_text("")
    return calls
