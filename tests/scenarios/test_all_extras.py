"""All extras in one environment: an index can resolve them together, with the tested set and without it."""

import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]


@pytest.mark.req("D19")
@pytest.mark.parametrize("how", [("-c", "constraints.txt"), ()], ids=["the tested set", "ranges alone"])
def test_all_extras_install_together(tmp_path: Path, how: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "new"], check=True, timeout=120)
    done = subprocess.run(
        [tmp_path / "new/bin/python", "-m", "pip", "install", "--quiet", "--dry-run", *how,
         "-e", ".[bench,claude,dev,gateway]"],
        cwd=TREE, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
