"""`damascus web` and `damascus up` as processes: the link, a taken port, kill -9, Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from damascus.people import tokens
from damascus.people.acts import Actor
from tests.crash.field import AGENT, shell_story
from tests.waiting import LONG, eventually
from tests.yard import Yard, story

DAMASCUS = str(Path(sys.executable).with_name("damascus"))


class Running:
    """A command that opens a window, with what it prints."""

    def __init__(self, yard: Yard, *words: str) -> None:
        self.said = yard.folder / f"{words[0]}.{len(list(yard.folder.glob('*.said')))}.said"
        with self.said.open("wb") as out:
            self.process = subprocess.Popen(
                [DAMASCUS, *words], cwd=yard.repo, env=yard.environ, stdout=out, stderr=out, start_new_session=True
            )

    def link(self) -> str:
        found = eventually(lambda: re.search(r"http://\S+/enter/[\w-]+", self.said.read_text()), LONG, "the link")
        return found[0]

    def entered(self) -> httpx.Client:
        link = self.link()
        client = httpx.Client(base_url=link.partition("/enter/")[0], timeout=30)
        assert client.get(link).status_code == 200
        return client


@contextmanager
def running(yard: Yard, *words: str) -> Iterator[Running]:
    made = Running(yard, *words)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait(LONG)


@pytest.mark.req("X12", "D20")
def test_web_is_killed_and_its_browser_is_known_again(yard: Yard) -> None:
    yard.add(story("S-1"))
    with running(yard, "web", "--port", "0") as first:
        client = first.entered()
        assert "S-1" in client.get("/").text
        os.killpg(first.process.pid, signal.SIGKILL)
        first.process.wait(LONG)
        with pytest.raises(httpx.TransportError):
            client.get("/")
    port = str(client.base_url.port)
    with running(yard, "web", "--port", port, "--read-only") as second:
        second.link()
        page = client.get("/")
        assert page.status_code == 200 and "S-1" in page.text and "read-only" in page.text
        second.process.send_signal(signal.SIGINT)
        assert second.process.wait(LONG) == 0
    assert yard.item("S-1")["state"] == "ready" and yard.query("SELECT count(*) AS n FROM audit")[0]["n"] == 0


@pytest.mark.req("X12")
def test_a_taken_port_and_a_door_that_is_not_opened_are_one_sentence(yard: Yard) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [DAMASCUS, "web", "--port", port], cwd=yard.repo, env=yard.environ, capture_output=True, text=True
        )
    told = " ".join(done.stderr.split())
    assert done.returncode == 1 and f"port {port} is taken" in told and "--port 0" in told and "Traceback" not in told
    open_door = [DAMASCUS, "web", "--port", "0", "--listen", "0.0.0.0"]
    done = subprocess.run(open_door, cwd=yard.repo, env=yard.environ, capture_output=True, text=True)
    assert done.returncode == 1 and "damascus token new" in " ".join(done.stderr.split())


@pytest.mark.req("X8", "X12")
def test_other_machines_come_in_once_there_is_a_token_and_a_second_browser_gets_a_link(yard: Yard) -> None:
    """Bound to another address of this machine's own loopback."""
    tokens.new(yard.db, yard.app.project(yard.repo), "read", Actor("Ada"))
    with running(yard, "web", "--port", "0", "--listen", "127.0.0.2", "--host", "dash.example") as web:
        client = web.entered()
        assert client.get("/").status_code == client.get("/", headers={"Host": "dash.example"}).status_code == 200
        assert client.get("/", headers={"Host": "other.example"}).status_code == 421
        assert "without TLS" in " ".join(web.said.read_text().split())
        link = [DAMASCUS, "web", "--link", "--listen", "127.0.0.2", "--port", str(client.base_url.port)]
        told = subprocess.run(link, cwd=yard.repo, env=yard.environ, capture_output=True, text=True, check=True)
        second = httpx.Client()
        assert second.get(told.stdout.strip()).status_code == 200 and second.get(client.base_url).status_code == 200
        assert httpx.get(told.stdout.strip()).status_code == 403


@pytest.mark.req("X12")
def test_up_works_serves_and_ends_by_ctrl_c(yard: Yard, tmp_path: Path) -> None:
    """It stays when nothing is left to do: a window that closes itself is none."""
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\n" + AGENT.format(before=""))
    agent.chmod(0o755)
    yard.add(shell_story("S-1"))
    with running(yard, "up", "--port", "0", "--agent", "command", "--agent-command", str(agent)) as up:
        client = up.entered()
        eventually(lambda: yard.item("S-1")["phase"] == "done", 120, "S-1 on main")
        eventually(lambda: "Landed today" in client.get("/").text, LONG, "the page that says so")
        assert up.process.poll() is None
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(LONG) == 130
    assert "stopping: agents are stopped" in up.said.read_text()
