"""Inside the sandbox of the judged code: starts the project's server and leads a Unix socket to its port.

    python -I -S in_the_cage.py FOLDER COMMAND

The server has a loopback of its own, which nobody outside can reach: who asks it is in another sandbox,
where the server's code can touch neither the questions nor the report. Ends when FOLDER/stop is there.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

NO_SERVER = 3
LOOK = 0.05


def main(folder: str, command: str) -> int:
    port = int(os.environ.get("DAMASCUS_PORT", "0"))
    if not port:
        print("damascus: there is no DAMASCUS_PORT", flush=True)
        return NO_SERVER
    server = subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)
    while not _answers(port):
        if server.poll() is not None:
            print(f"damascus: the server ended with exit code {server.returncode}", flush=True)
            return NO_SERVER
        if os.path.exists(os.path.join(folder, "stop")):
            return NO_SERVER
        time.sleep(LOOK)
    os.chdir(folder)  # a socket's path may be 107 bytes long
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("opening")
    listener.listen(64)
    listener.settimeout(LOOK)
    os.rename("opening", "socket")
    while not os.path.exists("stop"):
        try:
            one, _ = listener.accept()
        except TimeoutError:
            continue
        threading.Thread(target=_lead, args=(one, port), daemon=True).start()
    os.killpg(server.pid, signal.SIGKILL)
    return 0


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _lead(one: socket.socket, port: int) -> None:
    one.settimeout(None)
    try:
        other = socket.create_connection(("127.0.0.1", port), 5)
    except OSError:
        one.close()
        return
    other.settimeout(None)
    threading.Thread(target=_copy, args=(one, other), daemon=True).start()
    _copy(other, one)
    one.close()
    other.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
