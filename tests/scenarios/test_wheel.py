"""Our wheel, as a stranger installs it: in an environment of its own, with what it needs and nothing else."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
CONSTRAINTS = TREE / "constraints.txt"


def run(*command: object, cwd: Path, limit: float = 400) -> str:
    """Without this environment's variables for Python: nothing of the tree may be found by chance."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "DAMASCUS"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=limit
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, TREE, cwd=folder)
    [wheel] = folder.glob("damascus_orchestrator-*.whl")
    return wheel


@pytest.mark.req("D19", "F14")
def test_the_wheel_has_every_file_that_runs(built: Path) -> None:
    names = set(zipfile.ZipFile(built).namelist())
    kept = [path for path in (TREE / "src/damascus").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert [str(path) for path in kept if path.relative_to(TREE / "src").as_posix() not in names] == []
    pages = [path.relative_to(TREE).as_posix() for path in (TREE / "docs").rglob("*.md")]
    assert [page for page in pages if f"damascus/{page}" not in names] == []


@pytest.mark.timeout(900)
@pytest.mark.req("D19", "F14", "D7")
def test_an_installed_wheel_runs_the_demo_and_counts_single_tests(built: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "new", cwd=tmp_path)
    python = tmp_path / "new/bin/python"
    run(
        python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "-c", CONSTRAINTS, built, cwd=tmp_path
    )
    where = run(python, "-c", "import damascus; print(damascus.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path / "new")), "not this tree's"
    found = run(python, "-c", "import importlib.util as i; print(i.find_spec('pytest'))", cwd=tmp_path)
    assert found.strip() == "None", "no tool of ours is there"

    told = run(tmp_path / "new/bin/damascus", "demo", cwd=tmp_path, limit=600)
    assert "5 of 5 on main" in told, told
    assert "14 tests red before and green after" in told, told
