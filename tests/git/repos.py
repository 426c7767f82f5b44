"""Small real repositories, as a person would have them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from damascus.domain.ids import Sha, StoryId
from damascus.git.mirror import Mirror
from damascus.git.trees import TreeEntry
from damascus.git.workspaces import Workspace, Workspaces

PERSON = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}
S1 = StoryId("S-1")


def git(folder: Path, *args: str, check: bool = True) -> str:
    """Plain git as a person or an agent runs it: it discovers the repository in the folder."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)} | PERSON
    done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"git {args}: {done.stderr.decode()}")
    return done.stdout.decode(errors="surrogateescape").strip()


def write(folder: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Write these files; None deletes."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def commit(repo: Path, files: Mapping[str, str | bytes | None], message: str = "a change") -> Sha:
    write(repo, files)
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "--allow-empty", "-m", message)
    return Sha(git(repo, "rev-parse", "HEAD"))


def repository(folder: Path, files: Mapping[str, str | bytes | None] | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, {"README.md": "hello\n", "src/app.py": "def f():\n    return 1\n"} if files is None else files)
    return folder


class Project:
    """A person's repository, our mirror of it, and its workspaces."""

    def __init__(
        self, tmp: Path, files: Mapping[str, str | bytes | None] | None = None, *, all_branches: bool = True
    ) -> None:
        """`all_branches`: also those that are not main, which no agent sees."""
        self.repo = repository(tmp / "repo", files)
        self.mirror = Mirror.open(tmp / "home" / "mirror.git", str(self.repo))
        self.mirror.fetch() if all_branches else self.mirror.fetch_main("main")
        self.workspaces = Workspaces(tmp / "home" / "worktrees", self.mirror, "feat/")

    @property
    def main(self) -> Sha:
        tip = self.mirror.tip("main")
        assert tip is not None
        return tip

    def workspace(self, story: StoryId = S1) -> Workspace:
        return self.workspaces.create(story, self.main)

    def files(self, treeish: Sha) -> dict[str, str]:
        """Path to mode and content of every file of a tree."""
        listed = self.mirror.listing(treeish).files
        blobs = self.mirror.objects.find([entry.sha for entry in listed.values()])
        return {
            path: f"{entry.mode[-3:]} {blob.data.decode(errors='replace') if blob else '?'}"
            for (path, entry), blob in zip(listed.items(), blobs, strict=True)
        }

    def advance(self, files: Mapping[str, str | bytes | None]) -> Sha:
        """Somebody else's commit on main, fetched."""
        sha = commit(self.repo, files)
        self.mirror.fetch(only="main")
        return sha

    def candidate(self, base: Sha, files: Mapping[str, bytes | None], message: str = "story\n") -> Sha:
        changes = {
            path: None if data is None else TreeEntry("100644", self.mirror.write_blob(data))
            for path, data in files.items()
        }
        return self.mirror.commit_tree(self.mirror.objects.edit(base, changes), [base], message)


def planted_program(folder: Path, marker: Path) -> Path:
    """A program that leaves a mark when anybody runs it."""
    program = folder / "planted.sh"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    program.chmod(0o755)
    return program


def counting_git(folder: Path) -> tuple[str, Callable[[], list[str]]]:
    """A PATH whose git writes down each call, and what it wrote since the last question."""
    folder.mkdir()
    log = folder / "calls"
    real = shutil.which("git")
    (folder / "git").write_text(f'#!/bin/sh\necho "$1" >> "{log}"\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)

    def calls() -> list[str]:
        lines = log.read_text().split() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    return f"{folder}:{os.environ['PATH']}", calls


def as_nobody(check: Callable[[], None]) -> None:
    """Run a check without root's rights, which would read everything; in a child, where we are root."""
    if os.geteuid() != 0:
        check()
        return
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            check()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def give_to_nobody(folder: Path) -> None:
    if os.geteuid() == 0:
        for above in folder.parents:
            if above.stat().st_uid == 0 and above != Path("/") and not above.stat().st_mode & 0o001:
                above.chmod(above.stat().st_mode | 0o011)
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)
