"""The person's gate: from the inbox without blocking the story, and in a real terminal (A11)."""

import os
import pty
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from damascus.domain.item import Item
from damascus.scanning.scanner import Scanner
from damascus.store import people
from damascus.writes.inbox import InboxPerson
from damascus.writes.staging import Staging
from damascus.writes.terminal import PROMPT, TerminalPerson
from tests.cli import states
from tests.waiting import eventually
from tests.writes.desk import Desk, notebook
from tests.yard import Yard, story

SECRET = "gh" + "p_" + "k7Qz9LmWx2Rt5VbNc8HjUe3YpA6sDf4Gt1Xo"
Told = tuple[object, str]


class Asked:
    """An agent's desk whose writes wait for a person with an inbox."""

    def __init__(self, folder: Path, yard: Yard, scanner: Scanner, **how: float) -> None:
        yard.add(story("S-1"))
        self.yard = yard
        self.item: Item = states.claim(yard)[0]
        self.stopped = threading.Event()
        self.staging = Staging(yard.project.folder / "staged")
        self.person = InboxPerson(
            yard.db, yard.row.id, self.item.id, self.staging, self.stopped.is_set, poll=0.02, **how
        )
        self.desk = Desk.of(folder / "desk", scanner, gate="person", person=self.person)
        self.pool = ThreadPoolExecutor(1)

    def write(self, path: str, content: str) -> "Future[Told]":
        return self.pool.submit(self.desk.write, path, content)

    def question(self) -> int:
        """The number of the open question, once it is there and the write is staged under it."""
        eventually(lambda: [s for s in self.staging.all() if s.meta.issue], what="a staged write")
        eventually(self.yard.questions, what="a question in the inbox")
        return int(self.yard.query("SELECT max(id) AS n FROM human_issues WHERE closed_at IS NULL")[0]["n"])

    def answer(self, text: str) -> None:
        issue = people.open_question(self.yard.db, self.yard.row.id, self.question())
        people.close(self.yard.db, self.yard.row.id, issue, text)


@pytest.fixture
def asked(tmp_path: Path, database_url: str, scanner: Scanner) -> Callable[..., Asked]:
    return lambda **how: Asked(tmp_path, Yard(tmp_path / "yard", database_url), scanner, **how)


@pytest.mark.req("A11")
def test_a_write_is_applied_when_a_person_says_so_and_the_story_is_not_touched(asked: Callable[..., Asked]) -> None:
    at = asked()
    before = at.yard.item("S-1")
    waiting = at.write("src/a.py", "x = 1\n")
    number = at.question()
    assert not waiting.done()
    assert f"damascus write show {at.staging.all()[0].meta.n}" in at.yard.questions()[0]
    at.answer("apply")
    decision, _ = waiting.result(10)
    assert decision.allowed and at.desk.text("src/a.py") == "x = 1\n"  # type: ignore[attr-defined]
    [entry] = at.desk.log()
    assert (entry.verdict, entry.approved) == ("applied", "person")
    after = at.yard.item("S-1")
    same = ("phase", "state", "fence", "run_no", "attempts", "resume_phase")
    assert [before[key] for key in same] == [after[key] for key in same]
    assert at.staging.all()[0].meta.status == "applied" and at.staging.all()[0].meta.issue == number
    assert [event["kind"] for event in at.yard.events("S-1")][-2:] == ["issue.opened", "issue.answered"]


@pytest.mark.req("A11")
def test_a_rejection_goes_back_to_the_agent_with_its_reason(asked: Callable[..., Asked]) -> None:
    at = asked()
    waiting = at.write("src/a.py", "x = 1\n")
    at.answer("reject: keep the old name")
    decision, _ = waiting.result(10)
    assert not decision.allowed  # type: ignore[attr-defined]
    assert decision.reason == "a person rejected this write: keep the old name"  # type: ignore[attr-defined]
    assert not (at.desk.workspace / "src/a.py").exists()
    assert (at.desk.log()[0].check, at.desk.log()[0].verdict) == ("person", "refused")


@pytest.mark.req("A11")
@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit"])
def test_an_edited_write_is_what_is_written(asked: Callable[..., Asked], tool: str) -> None:
    at = asked()
    at.desk.put("src/a.py", "x = 1\n")
    edit = {"old_string": "1", "new_string": "2"}
    given = {"Write": {"content": "x = 2\n"}, "Edit": edit, "MultiEdit": {"edits": [edit]}}[tool]
    waiting = at.pool.submit(at.desk.call, tool, file_path="src/a.py", **given)
    at.question()
    at.staging.all()[0].after_file.write_text("x = 3  # by a person\n")
    at.answer("2")
    assert waiting.result(10)[0].allowed
    assert at.desk.text("src/a.py") == "x = 3  # by a person\n"
    assert at.desk.log()[0].approved == "person"


@pytest.mark.req("A11", "A10")
def test_an_edited_write_is_scanned_again(asked: Callable[..., Asked]) -> None:
    at = asked()
    waiting = at.write("src/a.py", "x = 1\n")
    at.question()
    at.staging.all()[0].after_file.write_text(f"token = '{SECRET}'\n")
    at.answer("edit")
    decision, _ = waiting.result(10)
    assert not decision.allowed and "GitHub token" in decision.reason  # type: ignore[attr-defined]


@pytest.mark.req("A11")
def test_of_a_notebook_a_person_edits_the_cell_that_was_written(asked: Callable[..., Asked]) -> None:
    at = asked()
    at.desk.put("src/n.ipynb", notebook("x = 1\n"))
    given = {"notebook_path": "src/n.ipynb", "cell_id": "one", "new_source": "x = 2"}
    waiting = at.pool.submit(at.desk.call, "NotebookEdit", **given)
    at.question()
    staged = at.staging.all()[0]
    staged.after_file.write_text(staged.after.decode().replace("x = 2", "x = 3"))
    at.answer("edit")
    assert waiting.result(10)[0].replaced["new_source"] == "x = 3"  # type: ignore[index]


@pytest.mark.req("A11")
def test_nobody_has_to_be_there(asked: Callable[..., Asked]) -> None:
    at = asked(time_limit=0.1)
    decision, _ = at.write("src/a.py", "x = 1\n").result(10)
    assert not decision.allowed and "nobody answered in time" in decision.reason  # type: ignore[attr-defined]
    assert at.yard.questions() == []


@pytest.mark.req("A11")
def test_a_worker_that_stops_waits_no_longer(asked: Callable[..., Asked]) -> None:
    at = asked()
    waiting = at.write("src/a.py", "x = 1\n")
    at.question()
    at.stopped.set()
    decision, _ = waiting.result(10)
    assert not decision.allowed and "worker stopped" in decision.reason  # type: ignore[attr-defined]
    assert at.yard.questions() == []


def test_a_question_that_a_dead_worker_left_is_closed_by_its_heir(asked: Callable[..., Asked]) -> None:
    at = asked()
    people.ask_about_write(at.yard.db, at.yard.row.id, at.item.id, "Apply?", ["apply"])
    InboxPerson(at.yard.db, at.yard.row.id, at.item.id, at.staging, lambda: False)
    assert at.yard.questions() == []


# ── the terminal ──────────────────────────────────────────────────────────────────────────────────────


class Terminal:
    """A real pseudo-terminal: what a person sees and types."""

    def __init__(self) -> None:
        self.person_side, self.our_side = pty.openpty()
        self.seen = b""

    def type(self, text: str) -> None:
        os.write(self.person_side, text.encode())

    def wait_for(self, text: str, times: int = 1) -> None:
        def there() -> bool:
            os.set_blocking(self.person_side, False)
            with suppress(BlockingIOError):
                self.seen += os.read(self.person_side, 65536)
            return self.seen.count(text.encode()) >= times

        eventually(there, what=f"{text!r} on the terminal")

    def close(self) -> None:
        os.close(self.person_side)
        os.close(self.our_side)


def at_terminal(tmp_path: Path, scanner: Scanner, stopped: threading.Event) -> tuple[Desk, Terminal]:
    terminal = Terminal()
    person = TerminalPerson(stopped.is_set, terminal.our_side, terminal.our_side, time_limit=20)
    return Desk.of(tmp_path, scanner, gate="person", person=person), terminal


@pytest.mark.req("A11")
def test_a_coloured_diff_and_three_keys_in_the_terminal(
    tmp_path: Path, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'x = 9\\n' > \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    desk, terminal = at_terminal(tmp_path, scanner, threading.Event())
    desk.put("src/a.py", "x = 1\n")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(desk.write, "src/a.py", "x = 2\x1b[31m\n")
        terminal.wait_for(PROMPT)
        assert b"\x1b[32m+x = 2\\x1b[31m" in terminal.seen, "coloured, and the agent's own escape is only shown"
        assert b"\x1b[31m-x = 1" in terminal.seen
        terminal.type("what?\n")
        terminal.wait_for(PROMPT, times=2)
        terminal.type("r: not like this\n")
        assert waiting.result(10)[0].reason == "a person rejected this write: not like this"
        waiting = pool.submit(desk.write, "src/a.py", "x = 2\n")
        terminal.wait_for(PROMPT, times=3)
        terminal.type("a\n")
        assert waiting.result(10)[0].allowed and desk.text("src/a.py") == "x = 2\n"
        waiting = pool.submit(desk.write, "src/a.py", "x = 3\n")
        terminal.wait_for(PROMPT, times=4)
        terminal.type("edit\n")
        assert waiting.result(10)[0].allowed and desk.text("src/a.py") == "x = 9\n"
    terminal.close()
    desk.pipeline.finish()
    assert [entry.approved for entry in desk.log()] == ["", "person", "person"]


@pytest.mark.req("A11")
def test_a_terminal_where_nobody_types_holds_no_worker(tmp_path: Path, scanner: Scanner) -> None:
    stopped = threading.Event()
    desk, terminal = at_terminal(tmp_path, scanner, stopped)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(desk.write, "src/a.py", "x = 1\n")
        terminal.wait_for(PROMPT)
        stopped.set()
        decision, _ = waiting.result(10)
    assert not decision.allowed and "worker stopped" in decision.reason
    terminal.close()
    desk.pipeline.finish()
