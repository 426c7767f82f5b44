"""What commands leave on disk lends nobody's rights, and nobody else passes our folders."""

import os
import stat
from pathlib import Path

import pytest

from damascus.system import modes

SET_ID = 0o6755


@pytest.mark.req("D6")
def test_bits_that_lend_rights_are_taken_and_nothing_else(tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    deep = top / "a/b"
    deep.mkdir(parents=True)
    for path in (top / "plain", deep / "shell", outside):
        path.touch()
    (top / "plain").chmod(0o640)
    for path in (deep / "shell", outside):
        path.chmod(SET_ID)
    (top / "link").symlink_to(outside)
    (top / "gone").symlink_to(tmp_path / "nowhere")
    deep.chmod(0o3775)
    before = (top / "plain").stat().st_ctime_ns
    assert {Path(name).name for name in modes.strip(top)} == {"shell", "b"}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (deep / "shell", deep)] == [0o755, 0o775]
    assert stat.S_IMODE(outside.stat().st_mode) == SET_ID, "no link is followed"
    assert (top / "plain").stat().st_ctime_ns == before, "what is plain is left alone"
    assert modes.strip(top) == modes.strip(tmp_path / "nowhere") == []


@pytest.mark.req("D6")
def test_our_folders_are_closed_whatever_they_were(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    (tmp_path / "projects").chmod(0o755)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    os.symlink(elsewhere, tmp_path / "logs")
    top = tmp_path.stat().st_mode
    modes.close(tmp_path, ("projects", "workers", "logs"))
    found = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("projects", "workers", "elsewhere")]
    assert found == [0o700, 0o700, 0o755]
    assert tmp_path.stat().st_mode == top, "PostgreSQL's account passes it"
