"""Ten ports for each checkout that no other checkout of this data folder has at the same time (X10).

A block is a lock file, held for as long as its checkout is in use: a process that dies gives its blocks back. What
somebody else on the machine already listens on is not handed out.
"""

import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from damascus.domain.errors import TransientError

BLOCK = 10
LAST = 65_535
LOOPBACKS = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


@dataclass(frozen=True)
class PortBlocks:
    """All blocks from `first` on; `folder` holds their locks."""

    folder: Path
    first: int = 20_000

    @contextmanager
    def hold(self) -> Iterator[int]:
        """The first port of a block that is ours until the end of the `with`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for port in range(self.first, LAST - BLOCK + 2, BLOCK):
            with open(self.folder / f"{port}.lock", "a") as file:
                if _locked(file) and all(is_free(each) for each in range(port, port + BLOCK)):
                    yield port
                    return
        raise TransientError(f"every block of {BLOCK} ports from {self.first} on is taken ([sandbox] first_port)")


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_free(port: int) -> bool:
    """Could a server of the checkout listen here? Asked by binding, which fails beside any listener."""
    return all(_can_bind(family, address, port) for family, address in LOOPBACKS)


def _can_bind(family: int, address: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a connection just closed counts as taken
            one.bind((address, port))
    except OSError as err:
        return err.errno not in (errno.EADDRINUSE, errno.EACCES)
    return True
