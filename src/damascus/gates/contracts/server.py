"""Conformance: `[contracts] serve` is started on the candidate, and schemathesis asks it what its description promises.

The server runs as every judged command does: a clean checkout, a sandbox, a port and a loopback of its own. The
questions are asked from a second sandbox. What fails on main in the same way is charged to nobody.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, GateName, TestRun
from damascus.gates.contracts.look import LookAtContracts
from damascus.gates.contracts.reading import ask, contract_files
from damascus.gates.contracts.touched import Touched, named_files
from damascus.gates.served import Asker, run_server, why_not
from damascus.scanning.scanner import TooMuchToRead

HERE = Path(__file__).parent
SEED = "20260101"
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


def look_at_server(runner: EvidenceRunner, candidate: Candidate, touched: Touched, look: LookAtContracts) -> None:
    config, served = candidate.config.contracts, descriptions_to_serve(candidate, touched)
    if not served and (touched.openapi or touched.code):
        why = "there is no description" if config.serve else "no [contracts] serve"
        look.unverified.append(f"contracts: whether the server does what its description says: {why}")
    for path in served:
        asked = asked_of(runner, candidate, candidate.tree, candidate.commit, path)
        look.runs.append(asked.evidence(path))
        if asked.failed or not asked.whole:
            _judge(runner, candidate, path, asked, look)


def _judge(runner: EvidenceRunner, candidate: Candidate, path: str, asked: "Asked", look: LookAtContracts) -> None:
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
    run = run_server(runner, candidate, tree, config.serve, questions, label="contracts-serve")
    asked = questions.asked(len(told["operations"]))
    asked.run = run
    asked.output = asked.output or run.output
    if not asked.whole:
        asked.why = why_not(questions, run, "[contracts] seconds") or asked.why
    return asked


class Questions(Asker):
    """Schemathesis, and what it reported."""

    def __init__(self, document: dict[str, Any], examples: int, seconds: float) -> None:
        super().__init__(seconds)
        self._document, self._examples = document, examples
        self._report: dict[str, Any] | None = None
        self._said = ""

    def ask(self, own: Path, socket: Path) -> None:
        (own / "description.json").write_text(json.dumps(self._document))
        (own / "schemathesis.toml").touch()  # the nearest one is read
        words = [
            "description.json", "--origin", "{url}", "--checks", ",".join(CHECKS),
            "--phases", "examples,coverage,fuzzing",
            "--mode", "positive", "--max-examples", str(self._examples), "--seed", SEED, "--workers", "1",
            "--request-timeout", "30", "--max-redirects", "0", "--suppress-health-check", "all", "--warnings", "off",
            "--no-color", "--report", "json", "--report-json-path", "report.json",
        ]  # fmt: skip
        finished = self.run_asker(own, socket, HERE / "asking.py", *words)
        self._said = finished.tail
        self._report = _read(own / "report.json") if finished.exit_code in (0, 1) else None

    def asked(self, operations: int) -> Asked:
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
