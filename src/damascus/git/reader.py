"""One `git cat-file --batch` that stays: packed objects are read without a new process each time.

It reads our own mirror only, by an explicit git dir. It ends when our end of its pipe closes, so also with us.
"""

import os
import subprocess
import threading

from damascus.git.commands import Git

MISSING = (b" missing", b" ambiguous")


class Reader:
    """Asked by object id, one question at a time. A reader that died is started again once."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def object(self, sha: str) -> tuple[str, bytes] | None:
        """Kind and content, None where there is no such object."""
        with self._lock:
            try:
                return self._ask(sha)
            except (OSError, EOFError, ValueError):
                self._end()
                return self._ask(sha)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ask(self, sha: str) -> tuple[str, bytes] | None:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(sha.encode() + b"\n")
        process.stdin.flush()
        head = process.stdout.readline()
        if not head.endswith(b"\n"):
            raise EOFError
        if head.rstrip().endswith(MISSING):
            return None
        _, kind, size = head.decode("ascii").split()
        data = process.stdout.read(int(size) + 1)
        if len(data) != int(size) + 1:
            raise EOFError
        return kind, data[:-1]

    def _running(self) -> "subprocess.Popen[bytes]":
        """A forked child must not share its parent's pipe."""
        if self._process is None or self._process.poll() is not None or self._owner != os.getpid():
            env = dict(self._git.environment) | {"GIT_DIR": str(self._git.git_dir)}
            self._process = subprocess.Popen(
                ["git", "cat-file", "--batch"], env=env, cwd=self._git.git_dir, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            self._owner = os.getpid()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        process.wait(timeout=10)
