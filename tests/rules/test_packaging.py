"""What we are called on an index, what we need, and that no sentence of ours installs a stranger."""

import re
import tomllib
from pathlib import Path

import pytest

from damascus.system import installing

TREE = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
PINNED = re.compile(r"[a-z0-9][a-z0-9._-]*==[^\s;=@/]+")
STRANGER = re.compile(
    r"(?:pip3?|pipx|uv(?: tool| pip)?|uvx) (?:install |add )?(?:-\S+ )*['\"]?damascus(?:\[|['\"\s`]|$)", re.M
)
TOLD = [
    *TREE.glob("*.md"),
    *(TREE / "docs").rglob("*.md"),
    *(TREE / "src").rglob("*.py"),
    *(TREE / "src").rglob("*.md"),
]


def plain(requirement: str) -> str:
    found = NAME.match(requirement)
    assert found, requirement
    return re.sub(r"[._-]+", "-", found[0]).lower()


def requirements() -> list[str]:
    return [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]


def constraints() -> dict[str, str]:
    lines = [line for line in (TREE / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not PINNED.fullmatch(line)] == [], "names and versions, nothing else"
    return {plain(line): line for line in lines}


@pytest.mark.req("D19")
def test_the_distribution_is_ours_and_the_command_stays() -> None:
    assert PROJECT["name"] == "damascus-orchestrator"
    assert PROJECT["scripts"] == {"damascus": "damascus.cli.main:main"}


def test_what_it_needs_are_ranges_and_the_tested_set_names_each() -> None:
    pinned = [one for one in requirements() if "==" in one.partition(";")[0]]
    assert pinned + [one for one in requirements() if ">=" not in one and "types-" not in one] == []
    assert {plain(one) for one in requirements()} - set(constraints()) == set()


@pytest.mark.req("D19")
def test_no_page_and_no_message_installs_a_stranger() -> None:
    told = {str(path.relative_to(TREE)): STRANGER.findall(path.read_text(errors="replace")) for path in TOLD}
    assert {path: found for path, found in told.items() if found} == {}
    assert STRANGER.search("run `pip install 'damascus[claude]'` first") and STRANGER.search("pip install damascus")


@pytest.mark.req("D19")
def test_hints_name_this_tree_or_the_package_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"-m pip install -e '{TREE}[claude]'" in installing.install("claude")
    monkeypatch.setattr(installing, "__file__", str(tmp_path / "site-packages/damascus/system/installing.py"))
    assert installing.install("claude").endswith("-m pip install claude-agent-sdk")
    assert installing.install("gateway").endswith("-m pip install 'litellm[proxy]'")
    extras = PROJECT["optional-dependencies"]
    assert {name: [plain(one) for one in extras[name]] for name in installing.PACKAGES} == {
        name: [plain(package)] for name, package in installing.PACKAGES.items()
    }
