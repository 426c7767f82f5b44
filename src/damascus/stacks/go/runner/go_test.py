"""`go`: for `go test …` the real one with `-json`, read here, and printed as `go test` would have printed it."""

import json
import os
import subprocess
import sys
import uuid

from damascus.stacks.runners.record import (
    LINES,
    ROOT,
    ReportFile,
    environment_of_tests,
    exit_as,
    next_program,
)

UNTOUCHED = {"c", "list", "exec", "n", "h", "help", "vet-only"}
"""Flags with which no test is run as usual."""
STATES = {"pass": "passed", "fail": "failed", "skip": "skipped"}
CHATTER = ("=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ")


def main(ours: str, words: "list[str]") -> int:
    real = next_program("go", ours)
    if real is None:
        print("go: not found", file=sys.stderr)
        return 127
    at = 2 if words[:1] == ["-C"] else 0
    flags = _flags(words[at + 1 :])
    if words[at : at + 1] != ["test"] or flags & UNTOUCHED:
        os.execve(real, [real, *words], dict(os.environ))
    folder = os.path.join(os.getcwd(), words[1]) if at else os.getcwd()
    record = ReportFile("go", words[at + 1 :], folder)
    asked = [] if "json" in flags else ["-json"]
    profile = Profile(words[at + 1 :], flags, folder)
    child = subprocess.Popen(
        [real, *words[: at + 1], *asked, *profile.words, *words[at + 1 :]],
        stdout=subprocess.PIPE,
        env=environment_of_tests(),
    )
    reader = GoEvents(record, verbose="v" in flags, raw=not asked)
    assert child.stdout is not None
    for line in child.stdout:
        reader.take(line)
    code = exit_as(child.wait())
    reader.close()
    profile.keep()
    record.end(code)
    return code


def _flags(words: "list[str]") -> "set[str]":
    """The names of go's own flags; what stands behind -args is the test binary's."""
    ours = words[: words.index("-args")] if "-args" in words else words
    off = ("=false", "=0")
    return {
        word.lstrip("-").partition("=")[0].replace("test.", "", 1)
        for word in ours
        if word.startswith("-") and not word.endswith(off)
    }


class Profile:
    """The lines that ran, where anybody asks: one file for each call, with the name that Go has for the folder."""

    def __init__(self, words: "list[str]", flags: "set[str]", folder: str) -> None:
        wanted = os.environ.get(LINES)
        self.words: list[str] = []
        self._file, self._folder = "", folder
        if not wanted:
            return
        self._file = os.path.join(wanted, "go", f"{uuid.uuid4().hex}.out")
        own = [word.partition("=")[2] for word in words if word.lstrip("-").startswith("coverprofile=")]
        self._written = os.path.join(folder, own[-1]) if own else f"{self._file}.raw"
        mode = "atomic" if "race" in flags else "count"
        self.words = [f"-coverprofile={self._written}", f"-covermode={mode}", "-coverpkg=./..."]

    def keep(self) -> None:
        if not self._file:
            return
        module, root = _module(self._folder)
        try:
            with open(self._written, "rb") as raw, open(self._file, "wb") as kept:
                below = os.path.relpath(root, os.environ.get(ROOT, "/"))
                kept.write(f"#module {module} {below}\n".encode() + raw.read())
        except OSError:
            return


def _module(folder: str) -> "tuple[str, str]":
    """What the nearest go.mod calls its folder."""
    while True:
        try:
            with open(os.path.join(folder, "go.mod"), encoding="utf-8", errors="replace") as file:
                named = [line.split()[1] for line in file if line.startswith("module ") and len(line.split()) > 1]
            return (named[0].strip('"') if named else "", folder)
        except OSError:
            above = os.path.dirname(folder)
            if above == folder:
                return ("", folder)
            folder = above


class GoEvents:
    """Events one by one: results into the record, output to stdout as `go test` shows it."""

    def __init__(self, record: ReportFile, *, verbose: bool, raw: bool) -> None:
        self._record = record
        self._verbose, self._raw = verbose, raw
        self._said: dict[tuple[str, str], list[str]] = {}
        self._open: dict[tuple[str, str], None] = {}

    def take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            assert isinstance(event, dict)
        except (ValueError, AssertionError, RecursionError):
            self._print(line.decode("utf-8", "replace"))
            return
        if self._raw:
            self._print(line.decode("utf-8", "replace"))
        self._event(str(event.get("Action")), str(event.get("Package", "")), str(event.get("Test", "")), event)

    def _event(self, action: str, package: str, test: str, event: "dict[str, object]") -> None:
        if action in ("output", "build-output"):
            self._output(package, test, str(event.get("Output", "")))
        elif action == "run":
            self._open[package, test] = None
        elif action in STATES and test:
            said = self._said.pop((package, test), [])
            self._open.pop((package, test), None)
            self._record.test(package, test, STATES[action], "".join(said[-20:]) if action == "fail" else "")
            if action == "fail" and not self._verbose:
                self._show("".join(line for line in said if not line.startswith(CHATTER)))
        elif action in STATES and package:
            self._package_ends(package, action, bool(event.get("FailedBuild")))

    def _package_ends(self, package: str, action: str, unbuilt: bool) -> None:
        """A test that began and never ended is told as such, whatever the package says of itself."""
        for name in [name for of, name in self._open if of == package]:
            del self._open[package, name]
            said = "".join(self._said.pop((package, name), []))
            self._record.test(package, name, "error", f"it did not run to its end: {said[-200:]}")
            self._show(said if action == "fail" else "")
        status = "unbuilt" if unbuilt else STATES[action]
        self._record.write({"group": package, "status": status})

    def _output(self, package: str, test: str, text: str) -> None:
        if self._verbose or not test:
            self._show("" if text == "PASS\n" and not self._verbose else text)
        said = self._said.setdefault((package, test), []) if test else []
        said.append(text[:4000])
        del said[:-200]

    def _show(self, text: str) -> None:
        if not self._raw and text:
            self._print(text)

    def _print(self, text: str) -> None:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))

    def close(self) -> None:
        sys.stdout.flush()
