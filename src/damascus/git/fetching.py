"""How the person's repository is fetched into one of ours: by git, one fetch after the other, also across processes."""

import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.ids import Sha
from damascus.git.commands import Git, GitResult
from damascus.git.disk import GitObject

Run = Callable[[tuple[str, ...]], GitResult]
FETCH_AGAIN = 5
NO_SUCH_REF = "couldn't find remote ref"


@dataclass(frozen=True)
class Fetcher:
    """`config` names the folders that git's own upload-pack may read; `alone` keeps others out meanwhile: two fetches
    at once fail by each other's ref locks."""

    source: str
    config: Path
    alone: Callable[[], AbstractContextManager[None]]

    def trust_source(self) -> None:
        """git's own upload-pack reads the person's repository, which may belong to another user.

        It takes `safe.directory` from a file only: the environment of the fetch is not handed on to it.
        """
        text = "[safe]\n" + "".join(f"\tdirectory = {_quoted(path)}\n" for path in _names_of(self.source))
        if not self.config.exists() or self.config.read_text() != text:
            handle, temporary = tempfile.mkstemp(dir=self.config.parent)
            with open(handle, "w") as file:
                file.write(text)
            os.replace(temporary, self.config)

    def into(self, git_dir: Path, git: Git) -> Run:
        """A git that may read the source."""
        reading = Git(git_dir, {**git.environment, "GIT_CONFIG_GLOBAL": str(self.config)})
        return lambda args: reading.run(*args, check=False)

    def fetch(self, run: Run, source: str, refspec: str, *how: str) -> GitResult:
        quiet = ("--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-maintenance")
        args = ("fetch", *quiet, *how, "--no-recurse-submodules", source, refspec)
        with self.alone():
            result = run(args)
            for _ in range(FETCH_AGAIN):
                if result.code == 0 or "but expected" not in result.stderr:
                    break
                result = run(args)  # a landing moved the same ref meanwhile
        return result


def asked_of(source: Path, sha: Sha) -> GitObject | None:
    """One object of the person's repository, None if it can't be had."""
    git_dir = source / ".git" if (source / ".git").is_dir() else source
    try:
        raw = Git.at(git_dir, source).run("cat-file", "--batch", data=f"{sha}\n".encode(), check=False).raw
    except OSError:
        return None
    head, _, rest = raw.partition(b"\n")
    words = head.decode("ascii", "replace").split(" ")
    return GitObject(words[1], sha, rest[: int(words[2])]) if len(words) == 3 else None


def _names_of(source: str) -> list[str]:
    """Under which names git may look at the ownership of the source: the folder, its .git, and both resolved."""
    folders = [source, os.path.join(source, ".git")]
    return list(dict.fromkeys(folders + [os.path.realpath(folder) for folder in folders]))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
