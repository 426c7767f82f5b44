"""A command's output on its way to the log: streamed, capped, its end remembered.

Neither gigabytes nor a flood of NULs fill the disk or the memory: a log keeps its head, a note of what was left
out and its end; in memory there are never more than the last 32 kB.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from damascus.domain.storable import OUTPUT_LIMIT, clean

CHUNK = 1 << 16
DRAIN_LIMIT = 32
NOTE_ROOM = 100


class Tail:
    """The last bytes, NULs taken out so that they push nothing of use away."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._limit = limit
        self._data = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        self._data += data.translate(None, b"\0") if b"\0" in data else data
        if len(self._data) > 2 * self._limit:
            self._trim()

    def _trim(self) -> None:
        over = len(self._data) - self._limit
        if over > 0:
            del self._data[:over]
            self._cut = True

    def bytes(self) -> bytes:
        self._trim()
        data = bytes(self._data)
        # The cut may have gone through a character: its rest is not shown as junk.
        return data.lstrip(bytes(range(0x80, 0xC0))) if self._cut else data

    def text(self) -> str:
        return clean(self.bytes())


class CappedLog:
    """A log file of at most `limit` bytes."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._head = max(limit // 2, limit - OUTPUT_LIMIT - NOTE_ROOM)
        self._limit = limit
        self._seen = 0
        self._end = Tail(max(0, limit - self._head - NOTE_ROOM))

    def write(self, data: bytes) -> None:
        room = self._head - self._seen
        self._seen += len(data)
        if room > 0:
            self._file.write(data[:room])
            self._file.flush()
        if room < len(data):
            self._end.add(data[max(0, room) :])

    def finish(self) -> None:
        """What did not fit the head: all of it if it is little, else a note and the end."""
        end = self._end.bytes()
        left_out = self._seen - self._head - len(end)
        if left_out > 0:
            self._file.write(f"\n… {left_out} bytes left out (a log holds {self._limit}) …\n".encode())
        self._file.write(end)
        self._file.flush()


class OutputSource(Protocol):
    """Where output comes from: a pipe that is logged (Stream), or a conversation (talk.Ear)."""

    log: CappedLog

    @property
    def theirs(self) -> int: ...
    def fileno(self) -> int: ...
    def take(self) -> bool: ...
    def drain(self) -> None: ...
    def release(self) -> None: ...
    def close(self) -> None: ...


Opened = Callable[[CappedLog, Tail], OutputSource]


class Stream:
    """One pipe: the command's end, our end, and the log it goes to."""

    def __init__(self, log: CappedLog, tail: Tail) -> None:
        self.log = log
        self._tail = tail
        self._ours, self._theirs = os.pipe()
        os.set_blocking(self._ours, False)

    @property
    def theirs(self) -> int:
        return self._theirs

    def fileno(self) -> int:
        return self._ours

    def take(self) -> bool:
        """Log what is there; False when nothing was, or nothing can come any more."""
        try:
            data = os.read(self._ours, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.log.write(data)
            self._tail.add(data)
        return bool(data)

    def drain(self) -> None:
        """What the ended command left in the pipe. Never waits: somebody may hold the other end for ever."""
        for _ in range(DRAIN_LIMIT):
            if not self.take():
                break
        self.log.finish()

    def release(self) -> None:
        """Close the command's end here, once it has its own."""
        if self._theirs >= 0:
            os.close(self._theirs)
        self._theirs = -1

    def close(self) -> None:
        self.release()
        os.close(self._ours)


class Output:
    """stdout and stderr of one command, together or apart, and the end of both in the order of arrival."""

    def __init__(self, streams: list[OutputSource], tail: Tail) -> None:
        self.streams = streams
        self.tail = tail

    @property
    def ends(self) -> tuple[int, int]:
        return self.streams[0].theirs, self.streams[-1].theirs

    def release(self) -> None:
        for stream in self.streams:
            stream.release()

    def drain(self) -> str:
        for stream in self.streams:
            stream.drain()
        return self.tail.text()

    def note(self, text: str) -> None:
        """A line of ours, told to the reader of the log as well as to the next attempt."""
        data = f"damascus: {text}\n".encode(errors="replace")
        self.streams[-1].log.write(data)
        self.tail.add(data)


def stderr_log(log: Path) -> Path:
    """Where stderr goes when it is kept apart."""
    return log.with_name(log.name + ".stderr")


def make_way(path: Path) -> None:
    """A free path in a folder that is there. An earlier command of the same user may have left anything in its
    place: what is written next goes through no link and waits at no FIFO."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif not path.is_char_device() or path.is_symlink():
        path.unlink(missing_ok=True)


@contextmanager
def output_to(log: Path, limit: int, *, merge_stderr: bool, first: Opened = Stream) -> Iterator[Output]:
    """`first` opens what stdout goes to."""
    tail = Tail()
    with ExitStack() as stack:
        streams: list[OutputSource] = []
        for path in [log] if merge_stderr else [log, stderr_log(log)]:
            make_way(path)
            capped = CappedLog(stack.enter_context(path.open("wb")), limit)
            stream = Stream(capped, tail) if streams else first(capped, tail)
            stack.callback(stream.close)
            streams.append(stream)
        yield Output(streams, tail)
