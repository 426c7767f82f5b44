"""Conformance: `[contracts] serve` is started on the candidate, and schemathesis asks it what its description promises.

The server runs as every judged command does: a clean checkout, a sandbox, a port and a loopback of its own. The
questions are asked from a second sandbox. What fails on main in the same way is charged to nobody.
"""

import json
import os
import shlex
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, GateName, TestRun
from damascus.gates.contracts.look import Look
from damascus.gates.contracts.reading import ask, contract_files
from damascus.gates.contracts.touched import Touched, named_files
from damascus.gates.runs import job
from damascus.scanning.scanner import TooMuchToRead
from damascus.system import process
from damascus.system.sandbox import Cage, detect

HERE = Path(__file__).parent
SEED = "20260101"
LOOK = 0.05
REPORT_LIMIT = 5_000_000
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance",
)  # fmt: skip


def descriptions_to_serve(candidate: Candidate, touched: Touched) -> list[str]:
    """A change of the code behind the API concerns all of them."""
    config = candidate.config.contracts
    if not config.serve:
        return []
    there = candidate.files(candidate.commit)
    every = [path for path in named_files(candidate, config.openapi) if path in there]
    return every if touched.code else [path for path in touched.openapi if path in there]


def look_at_server(runner: EvidenceRunner, candidate: Candidate, touched: Touched, look: Look) -> None:
    config, served = candidate.config.contracts, descriptions_to_serve(candidate, touched)
    if not served and (touched.openapi or touched.code):
        why = "there is no description" if config.serve else "no [contracts] serve"
        look.unverified.append(f"contracts: whether the server does what its description says: {why}")
    for path in served:
        asked = asked_of(runner, candidate, candidate.tree, candidate.commit, path)
        look.runs.append(asked.evidence(path))
        if asked.failed or not asked.whole:
            _judge(runner, candidate, path, asked, look)


def _judge(runner: EvidenceRunner, candidate: Candidate, path: str, asked: "Asked", look: Look) -> None:
    if not asked.whole:
        look.refuse(
            f"{path}: `{candidate.config.contracts.serve}` could not be asked: {asked.why}.", path, asked.output
        )
        return
    before = asked_of(runner, candidate, candidate.base, candidate.base, path)
    old = {each for each in asked.failed if before.whole and each in before.failed}
    look.unverified += [f"contracts: {path}: {each}: so on main, too" for each in asked.failed if each in old]
    new = [each for each in asked.failed if each not in old]
    if new:
        look.refuse(f"the server does not do what {path} says: {'; '.join(new)}.", path, asked.output)


@dataclass
class Asked:
    """What came of one server and one description."""

    whole: bool = False
    """Was every operation asked, to the end?"""
    why: str = ""
    failed: list[str] = field(default_factory=list)
    operations: int = 0
    output: str = ""
    run: TestRun | None = None

    def evidence(self, path: str) -> Evidence:
        told = (
            f"{self.operations} operations asked by schemathesis, {len(self.failed)} failures"
            if self.whole
            else self.why
        )
        run = self.run
        return Evidence(
            gate=GateName.CONTRACTS,
            command=run.command if run else "",
            tree=run.tree if run else "",
            seconds=run.seconds if run else 0.0,
            log=run.log if run else "",
            summary=f"{path}: {told}",
        )


def asked_of(runner: EvidenceRunner, candidate: Candidate, tree: Sha, commit: Sha, path: str) -> Asked:
    files = contract_files(candidate, commit, path)
    if files is None or files.problem:
        return Asked(why="its description can't be read")
    try:
        told = ask("look_at_description", path=path, files=files.packed(), old_files=None)
    except TooMuchToRead:
        return Asked(why="its description can't be read")
    if told["problems"]:
        return Asked(why="its description is not valid")
    config = candidate.config.contracts
    questions = Questions(told["document"], config.examples, config.seconds)
    command = f'exec {shlex.quote(sys.executable)} -I -S "$DAMASCUS_SERVED/in_the_cage.py" "$DAMASCUS_SERVED" '
    wanted = job(candidate, tree, command + shlex.quote(config.serve), "contracts-serve")
    run = runner.run(replace(wanted, timeout=config.seconds, fresh=True, probe=questions))
    asked = questions.asked(len(told["operations"]))
    asked.run = run.model_copy(update={"command": config.serve})
    asked.output = asked.output or run.output
    if not asked.whole and run.timed_out:
        asked.why = f"it took over {config.seconds:g} s ([contracts] seconds)"
    elif not asked.whole and not questions.begun:
        asked.why = "it did not listen on DAMASCUS_PORT of 127.0.0.1"
    return asked


class Questions:
    """ports.Probe: asks in a thread while the server runs, then lets it end."""

    def __init__(self, document: dict[str, Any], examples: int, seconds: float) -> None:
        self._document, self._examples, self._seconds = document, examples, seconds
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._report: dict[str, Any] | None = None
        self._said = ""
        self._folder = -1
        self._trouble: Exception | None = None
        self.begun = False

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        folder.mkdir(parents=True)
        shutil.copyfile(HERE / "in_the_cage.py", folder / "in_the_cage.py")
        # The server's code can write there, too: what we do in the folder is done in this very one, through no link.
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._thread = threading.Thread(target=self._ask, args=(folder,), name="contracts")
        self._thread.start()
        return {"DAMASCUS_SERVED": str(folder)}

    def end(self, folder: Path) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        os.close(self._folder)

    def _ask(self, folder: Path) -> None:
        try:
            while not self._over.wait(LOOK):
                if self._open_at(folder):
                    self.begun = True
                    with tempfile.TemporaryDirectory(prefix="damascus-asking-") as own:
                        self._schemathesis(Path(own), folder)
                    break
        except Exception as err:
            self._trouble = err  # raised where it is asked for, in the gate's own thread
        finally:
            with suppress(OSError):
                os.close(os.open("stop", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self._folder))

    def _open_at(self, folder: Path) -> bool:
        """Is the socket there, and the folder still the one that was made?"""
        try:
            found = os.stat("socket", dir_fd=self._folder, follow_symlinks=False)
            return stat.S_ISSOCK(found.st_mode) and os.path.samestat(os.lstat(folder), os.fstat(self._folder))
        except OSError:
            return False

    def _schemathesis(self, own: Path, folder: Path) -> None:
        shutil.copyfile(HERE / "asking.py", own / "asking.py")
        (own / "description.json").write_text(json.dumps(self._document))
        (own / "schemathesis.toml").touch()  # the nearest one is read
        words = [
            "description.json", "--origin", "{url}", "--checks", ",".join(CHECKS),
            "--phases", "examples,coverage,fuzzing",
            "--mode", "positive", "--max-examples", str(self._examples), "--seed", SEED, "--workers", "1",
            "--request-timeout", "30", "--max-redirects", "0", "--suppress-health-check", "all", "--warnings", "off",
            "--no-color", "--report", "json", "--report-json-path", "report.json",
        ]  # fmt: skip
        finished = process.run(
            [sys.executable, "-I", "asking.py", str(folder / "socket"), *words],
            cwd=own,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(own), "TMPDIR": str(own)},
            log=own / "log",
            timeout=self._seconds,
            stopping=lambda: 2 if self._over.is_set() else 0,
            cage=Cage(detect(), write=(own,), read=(folder,)),
        )
        self._said = finished.tail
        self._report = _read(own / "report.json") if finished.exit_code in (0, 1) else None

    def asked(self, operations: int) -> Asked:
        if self._trouble is not None:
            raise self._trouble
        report = self._report
        if report is None:
            return Asked(why="schemathesis came to no end", output=self._said)
        counts = report.get("operations", {})
        tested, errors = counts.get("tested", 0), report.get("errors", [])
        whole = report.get("complete") is True and not errors and operations > 0 and tested == operations
        failed = [f"{operation}: {each['title']}" for each in report["failures"] for operation in each["operations"]]
        why = "" if whole else f"schemathesis asked {tested} of {operations} operations"
        return Asked(whole, why, sorted(set(failed)), tested, self._said if failed or not whole else "")


def _read(path: Path) -> dict[str, Any] | None:
    """The server's answers are in it, but nobody else wrote it."""
    try:
        data = path.read_bytes() if path.stat().st_size <= REPORT_LIMIT else b""
        found = json.loads(data)
        return found if isinstance(found, dict) and isinstance(found.get("failures"), list) else None
    except (OSError, ValueError, RecursionError):
        return None
