"""The one place where judged commands run: a clean checkout of an exact tree that no agent ever touched.

A result is keyed by (tree, command, environment, overlay). A pass is kept and shared by verify, CI, review and
queue; whoever asks while it runs waits for it. What outlives the process has a narrower key (keeping.py). A failure is
shared with those who waited and then forgotten: asked again, it runs again. What a test leaves behind never meets the
next one: the folder is new every time. An agent wrote what runs here, so it is confined as the agent was, with nothing
to write but that folder.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from damascus.domain.errors import Stopping, TransientError
from damascus.domain.failures import transient_os_error
from damascus.domain.ports import Job, Probe, TestRun
from damascus.evidence.environment import RunFolder, environment
from damascus.evidence.held_out import lay_over, no_links_on_the_way
from damascus.evidence.keeping import Keeping
from damascus.evidence.results import read_result
from damascus.evidence.rewritten import SourceWatch
from damascus.git.made import COPY
from damascus.git.mirror import Mirror
from damascus.stacks import REGISTRY
from damascus.stacks.kit import Kit
from damascus.system import process
from damascus.system.checkouts import checkout_environment
from damascus.system.masking import mask_file, masked
from damascus.system.ports import PortBlocks
from damascus.system.sandbox import Cage, Level, detect, seats_at
from damascus.system.seats import Seats

KEPT = 256
Key = tuple[str, str, tuple[tuple[str, str], ...], str, tuple[tuple[str, str], ...]]
Prepare = Callable[[Path], Mapping[str, str]]


LOG_LIMIT = 20_000_000


def nothing_to_prepare(checkout: Path) -> Mapping[str, str]:
    return {}


def needs_no_other() -> Mapping[str, Path]:
    return {}


def nobodys_home(checkout: Path) -> Path | None:
    return None


class CleanRunner:
    """ports.EvidenceRunner. `prepare` is the project's workspace set-up; it returns further variables.

    `sandbox` is how commands are confined (None: as well as this machine can), `home_of` the HOME of the command that
    set a checkout up, which they may read beside their own folder and the toolchain. `ports` gives each run its own.
    `sweep` takes a used folder away, for who has better things to do than wait for it. `upstreams` are checkouts of the
    repositories that this one needs, by the variable that names them. `keeping` keeps passes for other processes.
    """

    def __init__(
        self,
        mirror: Mirror,
        checkouts: Path,
        prepare: Prepare = nothing_to_prepare,
        stopping: Callable[[], int] = process.never,
        log_limit: int = LOG_LIMIT,
        *,
        sandbox: Level | None = None,
        home_of: Callable[[Path], Path | None] = nobodys_home,
        ports: PortBlocks | None = None,
        sweep: "Callable[[Path], object] | None" = None,
        upstreams: Callable[[], Mapping[str, Path]] = needs_no_other,
        keeping: Keeping | None = None,
    ) -> None:
        self._mirror = mirror
        self._checkouts = checkouts
        self._prepare = prepare
        self._stopping = stopping
        self._log_limit = log_limit
        self._sandbox = sandbox
        self._home_of = home_of
        self._ports = ports
        self._sweep = sweep or remove
        self._upstreams = upstreams
        self._keeping = keeping
        self._lock = threading.Lock()
        self._passed: OrderedDict[Key, TestRun] = OrderedDict()
        self._running: dict[Key, Future[TestRun | None]] = {}

    @property
    def confinement(self) -> str:
        return (self._sandbox or detect()).value

    def run(self, job: Job) -> TestRun:
        job = job if job.upstreams is not None else replace(job, upstreams=self._upstreams())
        if job.fresh:
            return self._run_once(job)
        key = _key(job)
        while True:
            known, future, mine = self._look(key)
            if known is not None:
                return known
            if mine:
                return self._run_for_all(key, job, future)
            shared = self._wait(future)
            if shared is not None:
                return shared

    def _look(self, key: Key) -> tuple[TestRun | None, Future[TestRun | None], bool]:
        with self._lock:
            known, running = self._passed.get(key), self._running.get(key)
            if known is None and running is None:
                self._running[key] = future = Future[TestRun | None]()
                return None, future, True
            return known, running or Future(), False

    def _run_for_all(self, key: Key, job: Job, future: Future[TestRun | None]) -> TestRun:
        """Whoever waits gets the result, or None and tries itself when this run came to none."""
        result: TestRun | None = None
        try:
            result = self._kept_or_run(job)
            return result
        finally:
            with self._lock:
                del self._running[key]
                if result is not None and result.green:
                    self._passed[key] = result
                    if len(self._passed) > KEPT:
                        self._passed.popitem(last=False)
            future.set_result(result)

    def _kept_or_run(self, job: Job) -> TestRun:
        """One question before a run, one row after it; a job without a key has neither."""
        key = self._keeping.key(job) if self._keeping is not None else None
        if self._keeping is None or key is None:
            return self._run_once(job)
        known = self._keeping.find(key, job)
        if known is not None:
            return known
        run = self._run_once(job)
        self._keeping.keep(key, job, run)
        return run

    def _wait(self, future: Future[TestRun | None]) -> TestRun | None:
        while True:
            try:
                return future.result(timeout=0.1)
            except NotYet:
                if self._stopping():
                    raise Stopping from None

    def _run_once(self, job: Job) -> TestRun:
        if self._stopping():
            raise Stopping
        try:
            with fresh_place(self._checkouts, self._sweep) as place:
                return self._run_in(place, job)
        except OSError as err:
            if transient_os_error(err):
                raise TransientError(f"a clean checkout for {job.label}: {err}") from err
            raise

    def _run_in(self, place: RunFolder, job: Job) -> TestRun:
        self._mirror.checkout(job.tree, place.tree)
        wanted, needed = {**self._prepare(place.tree), **job.env}, job.upstreams or {}
        named = {name: str(path) for name, path in needed.items()}
        if job.overlay is not None:
            lay_over(job.overlay, place.tree, job.overlay_at)
        lay_files(job.files, place.tree)
        home, level = self._home_of(place.tree), self._sandbox or detect()
        seats = seats_at(level, place.tree, home, place.temporary)
        read = (*([home] if home else []), *needed.values())
        watch = SourceWatch.begun(self._mirror, job.tree, place.tree, job.files)
        if job.probe is not None:
            wanted |= job.probe.begin(place.probe, seats.inside(place.tree), wanted)
        with self._own(place) as own, _looking(job.probe, place):
            finished = process.run(
                process.shell(job.command),
                cwd=place.tree,
                env=self._reporting(place, seats, {**environment(place, wanted, seats, home), **own, **named}),
                log=job.log,
                timeout=job.timeout,
                stopping=self._stopping,
                log_limit=self._log_limit,
                cage=Cage(
                    level,
                    write=(place.root,),
                    read=(*read, self._kit.folder),
                    seats=seats,
                ),
            )
        if finished.stopped:
            raise Stopping
        mask_file(job.log, wanted.values())
        finished = replace(finished, tail=masked(finished.tail, wanted.values()))
        told = read_result(job, place, seats, finished, wanted.values())
        return told.model_copy(update=watch.told())

    def _reporting(self, place: RunFolder, seats: Seats, env: Mapping[str, str]) -> Mapping[str, str]:
        """Known runners report each test to us, whatever the command looks like; Go finds its library compiled."""
        return self._kit.switched_on({**env, **self._library(place)}, place.reports, seats.inside(place.tree))

    def _library(self, place: RunFolder) -> Mapping[str, str]:
        """A copy of each run's own, where nobody can write the one that is copied: others run what is in it."""
        confined = (self._sandbox or detect()) is not Level.UNCONFINED
        used = [stack for stack in REGISTRY.values() if any((place.tree / root).exists() for root in stack.roots)]
        for library in (stack.toolchain.compiled for stack in used if confined):
            program = shutil.which(library.program) if library else None
            found = library.make()(program) if library and program else None
            if library and found:
                copy = [*COPY, str(found), str(place.library)]
                subprocess.run(copy, check=True, capture_output=True, start_new_session=True)
                return {library.variable: str(place.library)}
        return {}

    @cached_property
    def _kit(self) -> Kit:
        return Kit.below(self._checkouts.parent / "runners")

    def _own(self, place: RunFolder) -> AbstractContextManager[dict[str, str]]:
        return nullcontext({}) if self._ports is None else checkout_environment(place.private, self._ports)


@contextmanager
def _looking(probe: Probe | None, place: RunFolder) -> Iterator[None]:
    """It has begun, so it ends, whatever becomes of the command: a probe may have a thread that waits for that."""
    try:
        yield
    finally:
        if probe is not None:
            probe.end(place.probe)


@contextmanager
def fresh_place(below: Path, sweep: Callable[[Path], object]) -> Iterator[RunFolder]:
    place = RunFolder(below / uuid.uuid4().hex[:12])
    try:
        place.make()
        yield place
    finally:
        sweep(place.root)


def remove(folder: Path) -> None:
    """Gone, also with read-only folders in it; what can't be removed is the reaper's."""

    def retry(function: Callable[[str], Any], path: str, _: object) -> None:
        try:
            os.chmod(os.path.dirname(path), stat.S_IRWXU)
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
                shutil.rmtree(path, ignore_errors=True)
            else:
                function(path)
        except OSError:
            return

    shutil.rmtree(folder, onerror=retry)


def lay_files(files: Mapping[str, bytes | None], checkout: Path) -> None:
    """Whatever the candidate has at these names, be it a link, goes first; no link on the way is followed."""
    for name, content in files.items():
        target = checkout / name
        no_links_on_the_way(target, checkout)
        target.parent.mkdir(parents=True, exist_ok=True)
        executable = target.is_file() and not target.is_symlink() and bool(target.stat().st_mode & stat.S_IXUSR)
        target.unlink(missing_ok=True)
        if content is not None:
            target.write_bytes(content)
            target.chmod(0o755 if executable else 0o644)


def _key(job: Job) -> Key:
    overlay = f"{job.overlay_at} {hashlib.sha256(job.overlay).hexdigest()}" if job.overlay is not None else ""
    for name, content in sorted(job.files.items()):
        overlay += f" {name}:{hashlib.sha256(content).hexdigest() if content is not None else 'gone'}"
    needed = tuple(sorted((name, str(path)) for name, path in (job.upstreams or {}).items()))
    return job.tree, job.command, tuple(sorted(job.env.items())), overlay, needed
