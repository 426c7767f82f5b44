"""What we are called on an index, what we need, and that no sentence of ours installs a stranger."""

import re
import tomllib
from pathlib import Path

import pytest

from damascus.cli import docs
from damascus.cli.main import main
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
    named = [one.partition(";")[0] for one in requirements()]
    assert [one for one in named if "==" in one or (">=" not in one and "types-" not in one)] == []
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
        name: [plain(package) for package in packages] for name, packages in installing.PACKAGES.items()
    }


@pytest.mark.req("D19")
def test_the_licence_and_the_documents_are_in_the_wheel() -> None:
    whole = tomllib.loads((TREE / "pyproject.toml").read_text())
    wheel = whole["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"docs": "damascus/docs"} and not (TREE / "src/damascus/docs").exists()
    assert PROJECT["license"] == "Apache-2.0" and PROJECT["license-files"] == ["LICENSE"]
    text = (TREE / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text


def test_docs_lists_and_prints_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    listed = {line.split("  ")[0].strip() for line in capsys.readouterr().out.splitlines()}
    folder = TREE / "docs"
    assert {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")} <= listed
    for name in ("spec", "docs/spec.md"):
        assert main(["docs", name]) == 0
        assert capsys.readouterr().out == (TREE / "docs/spec.md").read_text()
    assert main(["docs", "moon"]) == 2
    assert "there is no page 'moon'" in capsys.readouterr().err


def test_docs_of_an_installed_wheel_are_beside_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages/damascus"
    (package / "docs").mkdir(parents=True)
    (package / "docs/spec.md").write_text("# The spec\n")
    monkeypatch.setattr(docs, "PACKAGE", package)
    assert docs.folder_of_pages() == package / "docs"
