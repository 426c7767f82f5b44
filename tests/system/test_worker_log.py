"""The log of a worker's process: JSON lines in bounded files, without keys, and never in anybody's way."""

import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from damascus.system import worker_log
from damascus.system.hostid import WorkerLock, new_worker_id
from damascus.system.log_files import log_file, old_logs
from damascus.system.masking import MASK
from damascus.system.worker_log import WorkerLog

OLD = 40 * 86_400


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_has_time_level_worker_and_event(tmp_path: Path) -> None:
    kept = WorkerLog(tmp_path, "host:boot:7:1")
    kept.log.info("claimed", story="S-1", phase="build")
    kept.log.error("service failed", service="place", failures=2)
    kept.close()
    first, second = lines(kept.path)
    assert first.pop("time").endswith("Z")
    assert first == {"level": "info", "worker": "host:boot:7:1", "event": "claimed", "story": "S-1", "phase": "build"}
    assert (second["level"], second["failures"]) == ("error", 2)
    assert kept.path == log_file(tmp_path, "host:boot:7:1") and kept.path.stat().st_mode & 0o077 == 0
    assert kept.path.parent.stat().st_mode & 0o077 == 0


def test_the_same_lines_go_to_a_stream_too(tmp_path: Path) -> None:
    stream = io.StringIO()
    kept = WorkerLog(tmp_path, "me", also=stream)
    kept.log.info("landed", story="naïve\n\x1b[31m")
    kept.close()
    assert stream.getvalue() == kept.path.read_text()
    assert stream.getvalue().count("\n") == 1 and "\x1b" not in stream.getvalue(), "nothing steers a terminal"


def test_an_error_has_its_traceback_and_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAMASCUS_FORGE_TOKEN", "very-secret-value")
    kept = WorkerLog(tmp_path, "me")
    try:
        raise ValueError("very-secret-value at postgresql://ada:pass-word@db/x and password=pass-word")
    except ValueError as err:
        kept.log.error("service failed", exc_info=err, cause=str(err))
    kept.close()
    [line] = lines(kept.path)
    assert line["exception"].startswith("Traceback (most recent call last)") and "ValueError" in line["exception"]
    assert "very-secret-value" not in kept.path.read_text() and "pass-word" not in kept.path.read_text()
    assert MASK in line["cause"] and "@db/x" in line["cause"]


def test_the_files_of_a_process_are_few_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_log, "LARGEST", 2000)
    kept = WorkerLog(tmp_path, "me")
    for n in range(200):
        kept.log.info("claimed", story=f"S-{n}")
    kept.close()
    files = sorted(kept.path.parent.iterdir())
    assert len(files) == 1 + worker_log.OLDER and all(path.stat().st_size <= 2000 for path in files)
    assert lines(kept.path)[-1]["story"] == "S-199"


def test_what_can_not_be_written_disturbs_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    WorkerLog(tmp_path, "me").log.info("claimed")
    stream = io.StringIO()
    stream.close()
    WorkerLog(tmp_path / "other", "me", also=stream).log.info("claimed")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")


def test_old_files_of_dead_workers_go_and_no_others(tmp_path: Path) -> None:
    mine = new_worker_id()
    host, boot, pid, _ = mine.split(":")
    held = WorkerLock.hold(tmp_path / "workers", mine)
    dead, forgotten, young, far = (f"{host}:{boot}:{pid}:{n}" for n in (1, 2, 3, 4))
    far = far.replace(host, "another-host", 1)
    WorkerLock.hold(tmp_path / "workers", dead).release()
    (tmp_path / "workers" / f"{dead}.lock").touch()
    names = {name: log_file(tmp_path, name) for name in (mine, dead, forgotten, young, far)}
    rotated, bug = names[dead].with_name(f"{names[dead].name}.1"), tmp_path / "logs" / "bug-1.txt"
    for path in (*names.values(), rotated, bug):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n")
        if path != names[young]:
            os.utime(path, (time.time() - OLD, time.time() - OLD))
    found = list(old_logs(tmp_path, 30 * 86_400))
    assert len(found) == 3
    for path in found:
        path.unlink()
    assert {path for path in (*names.values(), rotated, bug) if path.exists()} == {
        names[mine], names[young], names[far], bug,
    }  # fmt: skip
    held.release()
