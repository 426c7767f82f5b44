"""A conversation with a command: lines both ways over sockets that nobody else can open."""

import json
import sys
import textwrap
from pathlib import Path

import pytest

from damascus.system import process
from damascus.system.talk import TalkLine

ENV = {"PATH": "/usr/bin:/bin"}


class Echo:
    """Says `lines`, hangs up once `until` lines were heard."""

    def __init__(self, lines: list[bytes], until: int) -> None:
        self.lines, self.until = lines, until
        self.heard_lines: list[bytes] = []
        self.line: TalkLine | None = None

    def begin(self, line: TalkLine) -> None:
        self.line = line
        for each in self.lines:
            line.say(each + b"\n")

    def heard(self, line: bytes) -> None:
        self.heard_lines.append(line)
        if len(self.heard_lines) == self.until and self.line is not None:
            self.line.hang_up()


def python(body: str) -> list[str]:
    return [sys.executable, "-u", "-c", textwrap.dedent(body)]


@pytest.mark.req("W9")
def test_lines_go_both_ways_until_we_hang_up(tmp_path: Path) -> None:
    talk = Echo([b"one", b"two"], until=2)
    body = """
        import sys
        for line in sys.stdin:
            print("got", line.strip())
        print("end of input")
    """
    done = process.run(python(body), cwd=tmp_path, env=ENV, log=tmp_path / "log", timeout=20, talk=talk)
    assert done.exit_code == 0
    assert talk.heard_lines == [b"got one", b"got two", b"end of input"]
    assert (tmp_path / "log").read_bytes() == b"got one\ngot two\nend of input\n"


@pytest.mark.req("W9")
def test_a_line_of_megabytes_goes_through_both_ways(tmp_path: Path) -> None:
    talk = Echo([b"x" * 3_000_000], until=1)
    body = "import sys; line = sys.stdin.readline(); print(line.strip()); sys.stdin.read()"
    done = process.run(python(body), cwd=tmp_path, env=ENV, log=tmp_path / "log", timeout=30, talk=talk)
    assert done.exit_code == 0
    assert [len(line) for line in talk.heard_lines] == [3_000_000]


@pytest.mark.req("W9")
def test_nobody_else_can_put_words_into_the_conversation(tmp_path: Path) -> None:
    """With pipes both writes succeed: an agent's shell could forge its answers, or switch its hooks off."""
    talk = Echo([], until=1)
    body = """
        import json, os, sys
        told = []
        for fd in (0, 1):
            try:
                os.open(f"/proc/{os.getpid()}/fd/{fd}", os.O_WRONLY)
                told.append("opened")
            except OSError as err:
                told.append(os.strerror(err.errno))
        print(json.dumps(told))
        sys.stdin.read()
    """
    process.run(python(body), cwd=tmp_path, env=ENV, log=tmp_path / "log", timeout=20, talk=talk)
    assert json.loads(talk.heard_lines[0]) == ["No such device or address"] * 2


@pytest.mark.req("W9")
def test_a_command_that_hears_nothing_holds_nobody_up(tmp_path: Path) -> None:
    talk = Echo([b"y" * 2_000_000], until=99)
    done = process.run(python("pass"), cwd=tmp_path, env=ENV, log=tmp_path / "log", timeout=20, talk=talk)
    assert done.exit_code == 0 and talk.heard_lines == []
