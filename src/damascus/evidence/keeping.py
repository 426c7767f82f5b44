"""Passes that outlive the process: what they are keyed by, and which are kept at all.

A kept pass is taken for a run that was not made, so its key holds all that the run could have seen: the tree, the
command, the files laid over it, the commits of the repositories it needs, what set-up made, the variables, the sandbox,
the tools of the machine, and the way in which Damascus runs and reads. What can't be keyed is not kept. Whatever the
key held before the run it must hold after it, or the run is nobody's evidence but its own.
"""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from damascus.domain.ports import Job, KeptRuns, RunKey, TestRun
from damascus.domain.storable import storable
from damascus.evidence.environment import inherited
from damascus.evidence.toolchain import tools_for
from damascus.git.made import LaidBySetup
from damascus.system.masking import MASK, SECRET_SHORTEST, masked
from damascus.system.replacing import PRIVATE, replace_file
from damascus.system.sandbox import Level

ROOMS = ("evidence", "stacks", "system")
"""Packages whose code decides what a run sees and what is read from it."""
LARGEST = 4_000_000
"""Characters of a result. A longer one is run again: cut, it would say something else."""
SECRET_FILE = "evidence.key"
UPSTREAM = re.compile(r"([0-9a-f]{40,64})(-[0-9a-f]{8})?")
"""A checkout of a repository that another needs is named by its commit (engine/upstreams.py)."""


@dataclass(frozen=True)
class Keeping:
    """`laid` is what set-up and `copy` lay into a checkout (None: nobody can say). `secret` is the data folder's own:
    values that may be secret enter a key by it alone."""

    runs: KeptRuns
    secret: bytes
    level: Callable[[], Level]
    laid: Callable[[], LaidBySetup | None]

    def key(self, job: Job) -> RunKey | None:
        """None: this job's result is never kept."""
        if job.fresh or job.probe is not None or job.overlay is not None:
            return None  # held-out tests lie in a folder whose name only this process knows
        level = self.level()
        if level is Level.UNCONFINED:
            return None  # who sees the whole machine and the network is held by no key
        needed, tools, laid = _commits(job.upstreams or {}), tools_for(job.command), self.laid()
        if needed is None or tools is None or laid is None:
            return None
        seen = {
            "sandbox": level.value,
            "tools": tools,
            "set-up": laid.made,
            "copied": {name: self._hidden(content) for name, content in laid.copied.items()},
            "inherited": inherited(),
            "variables": {name: self._hidden(os.fsencode(value)) for name, value in job.env.items()},
            "files": {name: _digest(content) for name, content in job.files.items()},
            "upstreams": needed,
        }
        text = json.dumps(seen, sort_keys=True)
        return RunKey(job.tree, job.command, hashlib.sha256(text.encode()).hexdigest(), gate_version())

    def find(self, key: RunKey, job: Job) -> TestRun | None:
        """A pass of exactly this key that took no longer than this job may; its log is written anew."""
        known = self.runs.find(key)
        if known is None or not known.green or (known.tree, known.command) != (key.tree, key.command):
            return None
        if known.seconds > job.timeout:
            return None
        job.log.parent.mkdir(parents=True, exist_ok=True)
        replace_file(job.log, f"[damascus: not run again, this tree passed before by the same key]\n{known.output}")
        return known.model_copy(update={"log": str(job.log), "kept": True})

    def keep(self, key: RunKey, job: Job, run: TestRun) -> None:
        if run.green and _can_be_stored(run, job.env) and self.key(job) == key:
            self.runs.keep(key, run)

    def _hidden(self, value: bytes) -> str:
        return hmac.new(self.secret, value, hashlib.sha256).hexdigest()


def secret_of(home: Path) -> bytes:
    """Made once for a data folder. A host that gets a copy of the file shares what others keep also where variables are
    passed on."""
    file = home / SECRET_FILE
    if not file.exists():
        aside = file.with_name(f".{SECRET_FILE}.{os.urandom(6).hex()}")
        replace_file(aside, os.urandom(32).hex(), mode=PRIVATE)
        with suppress(FileExistsError):  # another process was quicker
            os.link(aside, file)
        aside.unlink()
    return file.read_bytes()


def _can_be_stored(run: TestRun, env: Mapping[str, str]) -> bool:
    """As it is, and without the value of a variable: a report that was changed would be another report."""
    data: dict[str, Any] = run.model_dump()
    text = json.dumps(data, ensure_ascii=False)
    values = [value for value in env.values() if len(value) >= SECRET_SHORTEST]
    return len(text) <= LARGEST and masked(text, values).count(MASK) == text.count(MASK) and storable(data) == data


def _commits(upstreams: Mapping[str, Path]) -> dict[str, str] | None:
    found = {name: UPSTREAM.fullmatch(path.name) for name, path in upstreams.items()}
    return {name: match[1] for name, match in found.items() if match} if all(found.values()) else None


def _digest(content: bytes | None) -> str:
    return "gone" if content is None else hashlib.sha256(content).hexdigest()


@cache
def gate_version() -> str:
    """By the code itself: no number that somebody could forget to raise."""
    state = hashlib.sha256()
    for room in ROOMS:
        for file in _sources(resources.files(f"damascus.{room}")):
            state.update(hashlib.sha256(file.read_bytes()).digest())
    return state.hexdigest()[:16]


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry)
        elif entry.is_file() and not entry.name.endswith(".pyc"):
            yield entry
