"""A file that is replaced is whole at every moment, private from the first one, and a failure leaves what was there."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from damascus.system.replacing import PRIVATE, replace_file


def test_a_reader_sees_the_old_or_the_new_and_never_half(tmp_path: Path) -> None:
    file, seen, done = tmp_path / "file", set(), threading.Event()
    contents = [letter * 200_000 for letter in "abcd"]
    replace_file(file, contents[0])

    def read() -> None:
        while not done.is_set():
            seen.add(file.read_text())

    reader = threading.Thread(target=read)
    reader.start()

    def write(text: str) -> None:
        for _ in range(20):
            replace_file(file, text)

    writers = [threading.Thread(target=write, args=(text,)) for text in contents]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    done.set()
    reader.join()
    assert seen <= set(contents) and os.listdir(tmp_path) == ["file"]


def test_its_mode_is_what_is_asked_for(tmp_path: Path) -> None:
    for mode in (PRIVATE, 0o644, 0o755):
        replace_file(tmp_path / "file", b"x", mode=mode, sync=True)
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_link_is_replaced_and_what_it_led_to_is_untouched(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "file").symlink_to("other")
    replace_file(tmp_path / "file", "ours")
    assert not (tmp_path / "file").is_symlink()
    assert ((tmp_path / "file").read_text(), (tmp_path / "other").read_text()) == ("ours", "theirs")


def test_a_failure_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        replace_file(tmp_path / "folder", "x")
    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == ["inside"]


def test_a_name_as_long_as_can_be_is_no_obstacle(tmp_path: Path) -> None:
    replace_file(tmp_path / ("n" * 255), "x")
    assert os.listdir(tmp_path) == ["n" * 255]


def test_a_full_disk_names_the_file_that_was_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("damascus.system.replacing.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as told:
        replace_file(tmp_path / "key", "x", sync=True)
    assert (told.value.filename, os.listdir(tmp_path)) == (str(tmp_path / "key"), [])
