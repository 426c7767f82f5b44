"""Known defects, planted in a throw-away clone of a person's own project: which gates of this set-up see them? (X17)

Each defect is a story whose agent leaves exactly that behind. A story that lands, or gets past every gate, was not seen.
"""

import base64
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from damascus import stacks
from damascus.domain.check import Check
from damascus.domain.config import Config
from damascus.domain.verdict import Phase, Verdict
from damascus.lab.ground import PERSON, Playground, python, story
from damascus.lab.running import database
from damascus.stacks.mutants import edited, functions_in, reads
from damascus.stacks.suite import suite_of
from damascus.store import views

PLANTER = """
import base64, json, os, pathlib, sys
for name, content in json.load(open(sys.argv[1])).items():
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(content))
"""
KEY = "AKIA" + "Q4ZJ7WXN2LRT5VBD"
"""In the shape of a key that opens nothing: written in two parts, so that no scanner takes this file for a leak."""
NOTES = "damascus-canary.md"
FILES_READ = 400
Read = Callable[[str], bytes]


@dataclass(frozen=True)
class Defect:
    """What is left behind, in a story with this scope; `cure` is what to do when nobody sees it."""

    name: str
    does: str
    writes: dict[str, bytes]
    scope: list[str]
    kind: str
    cure: str


def planted(repository: Path, main: str, config: Config) -> Iterator[Check]:
    """One line a defect, as each is judged. The person's own repository is cloned, never written."""
    with database() as (folder, url):
        grounds = _grounds(repository, main, folder, url)
        ground = next(grounds)
        defects = list(defects_for(ground, config))
        for name, why in _impossible(defects):
            yield Check(name, "warn", why)
        for number, defect in enumerate(defects, start=1):
            check, landed = _judge(ground, defect, f"CANARY-{number}", config)
            yield check
            ground = next(grounds) if landed else ground


def _grounds(repository: Path, main: str, folder: Path, url: str) -> Iterator[Playground]:
    """A fresh clone whenever a defect has landed in the last one; whatever the forge is, this one is local."""
    number = 0
    while True:
        number += 1
        place = folder / f"clone-{number}"
        place.mkdir()
        _clone(repository, main, place / "repo")
        yield Playground(place, url, environ={"DAMASCUS_FORGE_KIND": "local", "DAMASCUS_AGENT_PING": "false"})


def _clone(repository: Path, main: str, to: Path) -> None:
    words = ["git", "clone", "-q", "--no-hardlinks", "--single-branch", "--branch", main, str(repository), str(to)]
    subprocess.run(
        words, check=True, capture_output=True, env={"PATH": os.environ["PATH"], **PERSON}, start_new_session=True
    )
    subprocess.run(
        ["git", "remote", "remove", "origin"], cwd=to, check=True, capture_output=True, start_new_session=True
    )


def defects_for(ground: Playground, config: Config) -> Iterator[Defect]:
    """What can be planted in this project: the last two need a test file and a function of its own."""
    yield Defect(
        "secret",
        "a key in a file that the story may write",
        {NOTES: f"key = {KEY}\n".encode()},
        [NOTES],
        "docs",
        "the secret gate has no setting: report it",
    )
    yield Defect(
        "scope",
        "a file outside of the story's scope",
        {NOTES: b"notes\n", "damascus-canary-outside.md": b"notes\n"},
        [NOTES],
        "docs",
        "the scope gate has no setting: report it",
    )
    listing = ground.git("ls-tree", "-r", "--name-only", "main").splitlines()

    def read(path: str) -> bytes:
        return (ground.repo / path).read_bytes()

    patterns = config.test.patterns
    test = _test_file(listing, read, patterns)
    if test is not None:
        cure = "name the suite on main: [test] command in damascus.toml"
        yield Defect("test", f"{test} emptied", {test: b""}, [test], "refactor", cure)
    hollow = _hollow(listing, read, patterns)
    if hollow is not None:
        path, what, content = hollow
        cure = "no test of the suite notices: name the whole suite ([test] command), or test this function"
        yield Defect("function", f"{what} hollowed", {path: content}, [path], "refactor", cure)


def _impossible(defects: list[Defect]) -> Iterator[tuple[str, str]]:
    there = {defect.name for defect in defects}
    if "test" not in there:
        yield "test", "no test file that Damascus can read: an emptied test could not be planted"
    if "function" not in there:
        yield "function", "no function that Damascus can read: a hollowed one could not be planted"


def _test_file(listing: list[str], read: Read, patterns: list[str]) -> str | None:
    """The test file with the most tests that can be read."""
    found = [path for path in listing if stacks.is_test(path, patterns) and stacks.stack_of(path) is not None]
    counted = [(len(stacks.tests_in(read(path), path).tests), path) for path in found[:FILES_READ]]
    return max(counted)[1] if counted and max(counted)[0] else None


def _hollow(listing: list[str], read: Read, patterns: list[str]) -> tuple[str, str, bytes] | None:
    """A function that gives something back, the longest of those that are no mere constant, with a plain answer for a
    body."""
    best: tuple[tuple[bool, int], str, str, bytes] | None = None
    for path in [path for path in listing if reads(path) and not stacks.is_test(path, patterns)][:FILES_READ]:
        source = read(path)
        try:
            functions = functions_in(source, path)
        except ValueError:
            continue
        for function in functions:
            answering = [mutant for mutant in function.mutants if mutant.answers]
            rank = function.strict, function.last_line - function.line
            if answering and (best is None or rank > best[0]):
                best = rank, path, function.where, edited(source, [answering[0].edit], path)
    return best[1:] if best else None


def _judge(ground: Playground, defect: Defect, name: str, config: Config) -> tuple[Check, bool]:
    """What the gates said, and whether it landed."""
    listing = ground.git("ls-tree", "-r", "--name-only", "main").splitlines()
    suite = suite_of(config.test, listing, lambda path: (ground.repo / path).read_bytes())
    ground.add(
        story(name, scope=defect.scope, command=suite.command or "true", requirements={}, kind=defect.kind), budget=1
    )
    plan = ground.folder / f"{name}.json"
    plan.write_text(json.dumps({path: base64.b64encode(text).decode() for path, text in defect.writes.items()}))
    planter = ground.folder / "planter.py"
    planter.write_text(PLANTER)
    ground.work(f"{python()} {planter} {plan}", slots=1)
    item = ground.item(name)
    feedback = item["last_feedback"] or {}
    seen = item["phase"] != Phase.DONE and bool(feedback.get("gate") or item["last_verdict"] == Verdict.CI_FAILED)
    by = feedback.get("gate") or "CI"
    if seen:
        return Check(defect.name, "ok", f"{defect.does}: seen by {by} ({item['last_verdict']})"), False
    said = str(feedback.get("message") or (_question(ground, item["id"]) or "it landed"))[:200]
    says = f"{defect.does}: NOT SEEN ({said}). To do: {defect.cure}"
    return Check(defect.name, "fail", says), item["phase"] == Phase.DONE


def _question(ground: Playground, item: int) -> str:
    return next((str(row["question"]) for row in views.issues(ground.db, item) if row["closed_at"] is None), "")
