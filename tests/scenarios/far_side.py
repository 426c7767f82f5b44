"""What runs on the server of two hosts: the real Gitea with its runners, and the doors to it and to PostgreSQL.

    python -m tests.scenarios.far_side ADDRESS FOLDER SOCKET REPOSITORY

It says one JSON object a line: first the forge's token, then what it is asked (one object a line, too). The door to the
forge can hold a push of one host halfway, so that a test may cut that host off in the very middle of it.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from damascus.trial_forge.programs import find_programs
from damascus.trial_forge.server import GiteaServer

FORGE_PORT = 3000
DATABASE_PORT = 5432
RUNNERS = 3
ZOMBIE_SECONDS = 20
"""A loaded Gitea loses the end of a job now and then; after so long it counts as failed and is run once more."""
CHUNK = 65536


def say(what: str, **more: Any) -> None:
    print(json.dumps({"said": what, **more}), flush=True)


class Door:
    """Passes bytes on, between hosts and something that listens here."""

    def __init__(self, listens: tuple[str, int], behind: tuple[int, Any]) -> None:
        self.behind = behind
        self.hold = ""
        self.go = threading.Event()
        self.listener = socket.create_server(listens)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, (host, _) = self.listener.accept()
            threading.Thread(target=self._serve, args=(client, host), daemon=True).start()

    def _serve(self, client: socket.socket, host: str) -> None:
        family, address = self.behind
        held = threading.Event()
        with client, socket.socket(family) as server:
            server.connect(address)
            back = threading.Thread(target=self._pass, args=(server, client, held), daemon=True)
            back.start()
            try:
                while data := client.recv(CHUNK):
                    if self._is_push(data, host):
                        data = self._hold(client, server, data, host)
                        held.set()
                    server.sendall(data)
                server.shutdown(socket.SHUT_WR)
            except OSError:
                if not held.is_set():
                    return
            back.join()

    def _hold(self, client: socket.socket, server: socket.socket, data: bytes, host: str) -> bytes:
        """All of the request came from the host, the forge has half of it; the other half, once it may go on."""
        while missing(data):
            data += client.recv(CHUNK)
        half = len(data) // 2
        server.sendall(data[:half])
        say("held", host=host)
        self.go.wait()
        return data[half:]

    def _pass(self, server: socket.socket, client: socket.socket, held: threading.Event) -> None:
        """What the forge answered to a push that was held is told, though its host may be gone."""
        answer = b""
        with suppress(OSError):
            while data := server.recv(CHUNK):
                answer += data if held.is_set() else b""
                if answer and not missing(answer):
                    say("answered", text=answer.decode("utf-8", errors="replace"))
                    answer = b""
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)

    def _is_push(self, data: bytes, host: str) -> bool:
        if host != self.hold or not data.startswith(b"POST ") or b"/git-receive-pack HTTP" not in data[:300]:
            return False
        self.hold = ""
        return True


def missing(message: bytes) -> bool:
    """Is there more to come of an HTTP message?"""
    head, end, body = message.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    return not end or len(body) < (int(length[1]) if length else 0)


def main(address: str, folder: str, database: str, repository: str) -> None:
    forge = GiteaServer.start(Path(folder), find_programs(os.environ), tied=True, zombie_seconds=ZOMBIE_SECONDS)
    try:
        work(forge, address, database, Path(repository))
    finally:
        forge.stop()


def work(forge: GiteaServer, address: str, database: str, repository: Path) -> None:
    forge.create_repository(repository.name, empty=True)
    url = f"{forge.url}/{forge.user}/{repository.name}.git"
    git(forge, "-C", str(repository), "push", "--quiet", url, "main")
    for number in range(RUNNERS):
        forge.start_runner(f"runner-{number}")
    Door((address, DATABASE_PORT), (socket.AF_UNIX, database))
    door = Door((address, FORGE_PORT), (socket.AF_INET, ("127.0.0.1", forge.settings.port)))
    say("ready", token=forge.token, user=forge.user)
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["do"]:
            case "hold":
                door.go.clear()
                door.hold = asked["host"]
            case "let go":
                door.go.set()
            case "pulls":
                path = f"/repos/{forge.user}/{repository.name}/pulls?state=all&limit=50&page={asked['page']}"
                say("pulls", answer=forge.api("GET", path).json())
            case "clone":
                git(forge, "clone", "--quiet", "--mirror", url, asked["to"])
                say("cloned")


def git(forge: GiteaServer, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", **forge.git_environment()}
    subprocess.run(["git", *words], env=env, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
