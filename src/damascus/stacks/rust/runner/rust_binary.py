"""What cargo starts in place of a test binary: the binary, asked for JSON, read here and printed as it would print.

libtest has a machine output on every channel and offers it on nightly only; the variable lets it speak on stable. Only
the test binary gets it, no compiler. What is no libtest binary (`cargo run`, harness = false) is run as it is.
"""

import json
import os
import subprocess
import sys

from damascus.stacks.runners.cargo_lines import add_object
from damascus.stacks.runners.record import ReportFile, environment_of_tests, exit_as

UNTOUCHED = ("--list", "--help", "-h", "--format", "-Z", "--logfile", "--bench")
SPEAK = {"RUSTC_BOOTSTRAP": "1"}
STATES = {"ok": "passed", "failed": "failed", "ignored": "skipped", "timeout": "error"}
WORDS = {"passed": "ok", "failed": "FAILED", "skipped": "ignored", "error": "FAILED"}
MARK = '{ "type": '


def main(_: str, words: "list[str]") -> int:
    binary, args = words[0], words[1:]
    untouched = any(word.startswith(UNTOUCHED) for word in args)
    if os.path.basename(os.path.dirname(binary)) != "deps" or untouched:
        os.execve(binary, words, environment_of_tests())
    add_object(binary)
    record = ReportFile("rust", args, os.getcwd())
    record.write({"sources": _sources(binary)})
    asked = [binary, "-Z", "unstable-options", "--format", "json", *args]
    child = subprocess.Popen(asked, stdout=subprocess.PIPE, env={**environment_of_tests(), **SPEAK})
    reader = RustEvents(record, os.path.basename(binary))
    assert child.stdout is not None
    for line in child.stdout:
        reader.take(line)
    code = exit_as(child.wait())
    if code and not reader.speaks:
        # No libtest, or one that does not know these words: run as it was meant, its exit code is all there is.
        code = exit_as(subprocess.call(words, env=environment_of_tests()))
    reader.close()
    record.end(code)
    return code


def _sources(binary: str) -> "list[str]":
    """What the binary was compiled from, by the list that the compiler leaves beside it; the crate's root is first."""
    try:
        with open(f"{binary}.d", encoding="utf-8", errors="replace") as file:
            line = file.readline(1_000_000)
    except OSError:
        return []
    paths = line.partition(": ")[2].replace("\\ ", "\0").split()
    folder, root = os.getcwd(), os.environ.get("RUNNER_ROOT", "/")
    return [_below(path.replace("\0", " "), folder, root) for path in paths[:5000]]


def _below(path: str, folder: str, root: str) -> str:
    """cargo runs the binary in its package, and the compiler in the workspace's folder: one of them has the file."""
    places = [folder]
    while len(places[-1]) > len(root) and os.path.dirname(places[-1]) != places[-1]:
        places.append(os.path.dirname(places[-1]))
    found = next((each for each in reversed(places) if os.path.exists(os.path.join(each, path))), folder)
    return os.path.relpath(os.path.join(found, path), root)


class RustEvents:
    """Events of libtest into the record, and the lines that it prints for people to stdout."""

    def __init__(self, record: ReportFile, group: str) -> None:
        self._record, self._group = record, group
        self.speaks = False
        self._open: dict[str, None] = {}
        self._failures: list[tuple[str, str]] = []

    def take(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        at = text.find(MARK)
        try:
            event = json.loads(text[at:]) if at >= 0 else None
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            self._print(text)
            return
        self._print(text[:at])
        self._event(event, str(event.get("event")), str(event.get("name", "")))

    def _event(self, event: "dict[str, object]", what: str, name: str) -> None:
        if event.get("type") == "suite":
            self._suite(event, what)
        elif event.get("type") == "test" and what == "started":
            self._open[name] = None
        elif event.get("type") == "test" and what in STATES:
            self._open.pop(name, None)
            message = str(event.get("stdout") or event.get("message") or "")
            self._record.test(self._group, name, STATES[what], message[:300] if what == "failed" else "")
            self._print(f"test {name} ... {WORDS[STATES[what]]}\n")
            if what == "failed":
                self._failures.append((name, message[-20_000:]))

    def _suite(self, event: "dict[str, object]", what: str) -> None:
        self.speaks = True
        if what == "started":
            self._record.write({"group": self._group, "status": "started"})
            count = event.get("test_count")
            self._print(f"\nrunning {count} test{'' if count == 1 else 's'}\n")
            return
        for name, said in self._failures:
            self._print(f"\n---- {name} stdout ----\n{said}\n")
        told = "; ".join(f"{event.get(key, 0)} {key}" for key in ("passed", "failed", "ignored", "measured"))
        self._print(f"\ntest result: {'ok' if what == 'ok' else 'FAILED'}. {told}\n\n")
        self._record.write({"group": self._group, "status": "passed" if what == "ok" else "failed"})

    def close(self) -> None:
        for name in self._open:
            self._record.test(self._group, name, "error", "it did not run to its end")
        sys.stdout.flush()

    def _print(self, text: str) -> None:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
