"""What a runner's jobs leave behind ends with the runner."""

import sys
from pathlib import Path

import pytest

from damascus.system import procfs
from damascus.trial_forge.process import spawn
from tests.waiting import eventually

IN_ITS_OWN_GROUP = "import os; os.setpgid(0, 0); open('began', 'w'); os.execlp('sleep', 'sleep', '600')"
LEAVES_ONE = """\
(python -c "$CODE" & echo $! > pid)
while ! test -e began; do sleep 0.02; done
mv pid orphan
exec sleep 600
"""


@pytest.mark.req("D8")
@pytest.mark.parametrize("how", ["end", "kill"])
def test_what_lost_its_parent_ends_too(tmp_path: Path, how: str) -> None:
    """A runner that cancels a job ends the step's shell; what that had started lives on, in a group of its own."""
    environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "CODE": IN_ITS_OWN_GROUP}
    child = spawn(["sh", "-c", LEAVES_ONE], tmp_path, environ, None, log=tmp_path / "log", tied=False)
    eventually((tmp_path / "orphan").exists, 30, "the orphan")
    orphan = procfs.process(int((tmp_path / "orphan").read_text()))
    assert orphan is not None
    getattr(child, how)()

    def gone() -> bool:
        now = procfs.process(orphan.pid)
        return now is None or now.start != orphan.start or now.zombie

    try:
        eventually(gone, what="the end of the orphan")
    finally:
        procfs.kill(orphan)
