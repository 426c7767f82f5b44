"""All extras in one environment: the tested set resolves them together."""

import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]


@pytest.mark.req("D19")
def test_all_extras_install_together(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "new"], check=True, timeout=120)
    done = subprocess.run(
        [tmp_path / "new/bin/python", "-m", "pip", "install", "--quiet", "--dry-run",
         "-c", "constraints.txt", "-e", ".[bench,claude,contracts,dev,gateway,visual]"],
        cwd=TREE, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
