"""How many files a reader passes from claim to done, traced by tools/walk. The limits are here and nowhere else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rules.tree import ROOT, document

LIMITS = {"build_flow": 35, "claim_to_done_flow": 50, "build": 98, "claim_to_done": 109}
"""Files that tell the flow; and with the doors, those that the flow calls. They only go down, but for a step that is
new: the receipt has brought six files, what steps leave behind two, the gates test_contracts and impact one each."""
SCRIPTS = ("build", "review", "merge")
SLACK = 2
"""The page may be this far from what is found: a retry that one run needs and another doesn't meets a file more."""


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    from tests import databases

    with databases.fresh_database() as url:
        done = subprocess.run(
            [ROOT / "tools" / "walk", "--json", "--database-url", url],
            cwd=tmp_path_factory.mktemp("elsewhere"), env={**os.environ, "PYTHON": sys.executable},
            capture_output=True, text=True, timeout=280,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_story_passes_no_more_files_than_before(walked: dict[str, Any]) -> None:
    found = walked["totals"]
    assert {name: found[name] for name in LIMITS if found[name] > LIMITS[name]} == {}, f"more than {LIMITS}"


def test_the_walk_goes_through_every_phase_and_the_files_are_there(walked: dict[str, Any]) -> None:
    assert list(walked["phases"]) == ["claim", *SCRIPTS]
    assert [name for name in walked["files"] if not (ROOT / "src/damascus" / name).is_file()] == []
    told = ["store/leases.py", "engine/lifecycle.py", *(f"engine/phases/{name}.py" for name in SCRIPTS)]
    assert [name for name in walked["files"] if name in told] == told, "in the order of first entry"
    assert any("maintenance" in name for name in walked["files"]) is False, "housekeeping is beside the story"


def test_the_page_says_what_was_found(walked: dict[str, Any]) -> None:
    page, found = document("ARCHITECTURE.md"), walked["totals"]
    said = re.search(r"^Build: (\d+) files .*?Claim to done: (\d+) files", page, re.MULTILINE)
    assert said, "run tools/walk --write"
    apart = [abs(int(said[1]) - found["build"]), abs(int(said[2]) - found["claim_to_done"])]
    assert max(apart) <= SLACK, f"run tools/walk --write: {found}"


def test_the_tool_rewrites_only_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("before\n<!-- walk: written by tools/walk --write -->\nold\n<!-- end of walk -->\nafter\n")
    program = (
        "import sys; from pathlib import Path; from tools import walk\n"
        "recorder = walk.Recorder(); recorder.phases['build'] = walk.Walked(); walk.write(Path(sys.argv[1]), recorder)"
    )
    subprocess.run([sys.executable, "-c", program, page], cwd=ROOT, check=True, timeout=60)
    text = page.read_text()
    assert text.startswith("before\n<!-- walk:") and text.endswith("<!-- end of walk -->\nafter\n")
    assert "Build: 0 files" in text and "old" not in text
