"""Static security findings of each write, in the background and never blocking: SAST_FINDINGS.jsonl (A13).

The analyser is ruff with its S rules. It gets the text on its stdin, no config and no cache, and parses it only.
"""

import json
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from damascus import stacks
from damascus.writes.log import WriteLog

TIME_LIMIT = 20.0
ASSERT = "S101"
MESSAGE_LIMIT = 500


class Sast:
    """One thread of the step's; `finish` waits for what is still under way."""

    def __init__(self, log: WriteLog) -> None:
        self._log = log
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sast")
        self._under_way: list[Future[None]] = []

    def look(self, n: int, path: str, content: bytes) -> None:
        if has_analyser(path):
            self._under_way.append(self._pool.submit(self._look, n, path, content))

    def _look(self, n: int, path: str, content: bytes) -> None:
        """A finding is added as soon as it is known; what could not be looked at is said, too."""
        try:
            found = findings(path, content)
        except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as err:
            self._log.finding({"n": n, "path": path, "tool": "ruff", "rule": "", "message": f"not looked at: {err}"})
            return
        for each in found:
            self._log.finding({"n": n, "path": path, **each})
        self._log.amend(n, sast=len(found))

    def finish(self, timeout: float = TIME_LIMIT) -> None:
        wait(self._under_way, timeout)
        self._pool.shutdown(wait=False, cancel_futures=True)


def has_analyser(path: str) -> bool:
    return path.endswith(".py")


def findings(path: str, content: bytes) -> list[dict[str, object]]:
    words = ["check", "--select", "S", "--isolated", "--no-cache", "--quiet", "--output-format", "json", "--exit-zero"]
    ignored = ["--ignore", ASSERT] if stacks.is_test(path) else []
    done = subprocess.run(
        [str(ruff()), *words, *ignored, "--stdin-filename", path, "-"],
        input=content, capture_output=True, timeout=TIME_LIMIT, cwd="/", env={"LANG": "C.UTF-8"}, check=True,
        start_new_session=True,
    )  # fmt: skip
    return [_finding(found) for found in json.loads(done.stdout)]


def ruff() -> Path:
    """The one that was installed with us."""
    return Path(sys.executable).with_name("ruff")


def _finding(found: dict[str, Any]) -> dict[str, object]:
    return {
        "tool": "ruff",
        "rule": found["code"] or "syntax",
        "line": found["location"]["row"],
        "message": str(found["message"])[:MESSAGE_LIMIT],
    }
