"""`damascus forge try`: one command to a real Gitea with this repository on it, and one to end it."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from damascus.people.forge_trial import Place, repository_name
from damascus.trial_forge.server import GiteaServer
from tests import databases
from tests.cli.conftest import Cli
from tests.real_forge import BUILT
from tests.waiting import eventually
from tests.yard import CONFIG, PERSON, Yard

JOB = f'{CONFIG}[ci.jobs]\ntest = "grep one calc.py"\n'
DAMASCUS = str(Path(sys.executable).parent / "damascus")


@pytest.fixture
def home(cli: Cli, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder that every account may pass, and a repository with one CI job. What was started is ended."""
    if not (BUILT / "1.26.4" / "gitea").exists():
        pytest.skip("Gitea is missing: make forge")
    folder = Path(os.environ[databases.FOLDER]) / f"home-{uuid4().hex[:8]}"
    for name, value in {**PERSON, "DAMASCUS_FORGE_DIR": str(BUILT), "DAMASCUS_HOME": str(folder)}.items():
        monkeypatch.setenv(name, value)
    yard.commit({"damascus.toml": JOB}, "one job")
    yield folder
    cli("forge", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def server_of(home: Path) -> GiteaServer:
    found = Place(home).server({"DAMASCUS_FORGE_DIR": str(BUILT)})
    assert found is not None
    return found


def main_there(home: Path) -> str:
    """As git sees it: the API learns of a push later."""
    server = server_of(home)
    words = ["git", "ls-remote", f"{server.url}/damascus/repo.git", "refs/heads/main"]
    environ = {"PATH": os.environ["PATH"], **server.git_environment()}
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=True).stdout.partition("\t")[0]


def ci_of(home: Path, sha: str) -> str:
    tasks = server_of(home).api("GET", "/repos/damascus/repo/actions/tasks").json()["workflow_runs"] or []
    return next((task["status"] for task in tasks if task["head_sha"] == sha), "")


@pytest.mark.req("D8")
def test_one_command_brings_the_repository_to_a_real_forge_with_green_ci(cli: Cli, yard: Yard, home: Path) -> None:
    ran = cli("forge", "try", "--commit", "--json")
    assert ran.code == 0, ran.err
    told: dict[str, Any] = ran.json
    assert told["committed"] and told["pushed"] and told["next"] is None
    assert yard.git("status", "--porcelain") == ""
    assert yard.git("log", "-1", "--format=%s %an") == "damascus: worked on a forge Ada"
    server, tip = server_of(home), yard.main()
    assert main_there(home) == tip
    assert server.api("GET", "/repos/damascus/repo").json()["private"]
    eventually(lambda: ci_of(home, tip) == "success", 60, "green CI of the first push")

    forge = tomllib.loads(yard.on_main("damascus.toml") or "")["forge"]
    assert forge == {"kind": "gitea", "url": told["url"], "token_file": str(home / "forge" / "token")}
    token_file = Path(forge["token_file"])
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    token = token_file.read_text().strip()
    assert token not in ran.out + ran.err and token != server.token
    headers = {"Authorization": f"token {token}"}
    refused = httpx.get(f"{server.url}/api/v1/admin/users", headers=headers, trust_env=False)
    assert refused.status_code == 403, "the token has no more rights than it needs"


@pytest.mark.req("D8")
def test_without_commit_it_names_the_commands_and_a_second_time_pushes(cli: Cli, yard: Yard, home: Path) -> None:
    before = yard.main()
    ran = cli("forge", "try")
    assert ran.code == 0, ran.err
    assert yard.main() == before
    steps = ran.out.rpartition("Next: ")[2].strip().removesuffix("damascus forge try").strip().removesuffix("&&")
    first, second = (step.strip() for step in steps.split("&&"))
    assert first == "git add damascus.toml .gitea/workflows/ci.yml" and second.startswith("git commit")
    subprocess.run(steps, shell=True, cwd=yard.repo, check=True, capture_output=True)
    (home / "forge" / "token").unlink()
    again = cli("forge", "try", "--json")
    assert (home / "forge" / "token").read_text().strip(), "a token that was lost is made anew"
    assert again.json["pushed"] and again.json["next"] is None and not again.json["files"][0]["changed"]
    assert main_there(home) == yard.main() != before


@pytest.mark.req("D8")
def test_a_main_that_lacks_what_landed_is_not_forced(cli: Cli, yard: Yard, home: Path) -> None:
    assert cli("forge", "try", "--commit").code == 0
    landed = yard.git("rev-parse", "main")
    yard.git("reset", "-q", "--hard", "HEAD~1")
    yard.commit({"calc.py": "def one():\n    return 2\n", "damascus.toml": JOB}, "another way")
    ran = cli("forge", "try", "--commit")
    assert ran.code == 0 and "was not pushed" in ran.out and "git pull http://127.0.0.1" in ran.out
    assert main_there(home) == landed


@pytest.mark.req("D8")
def test_stop_ends_all_of_it_and_what_was_there_comes_back(cli: Cli, yard: Yard, home: Path) -> None:
    first = cli("forge", "try", "--commit", "--json").json
    server = server_of(home)
    children = [child for child in (server.gitea, *server.runners.values()) if child]
    assert len(children) == 2 and all(child.alive for child in children)
    assert "The forge is stopped" in cli("forge", "stop").out
    assert not any(child.alive for child in children)
    assert cli("forge", "stop").out == "No forge of ours was running.\n"
    again = cli("forge", "try", "--json").json
    assert (again["url"], again["password"]) == (first["url"], first["password"])


@pytest.mark.req("D8")
def test_a_forge_of_the_users_own_is_kept_and_nothing_is_left_running(cli: Cli, yard: Yard, home: Path) -> None:
    mine = f'{JOB}[forge]\nkind = "gitea"\nurl = "https://git.example.invalid/ada/calc"\n'
    yard.commit({"damascus.toml": mine}, "a forge of mine")
    ran = cli("forge", "try", "--commit")
    assert ran.code == 1
    assert "has another [forge] already, so nothing was changed" in ran.error
    assert yard.git("status", "--porcelain") == "" and yard.on_main("damascus.toml") == mine.strip()
    assert not server_of(home).running


@pytest.mark.req("D8")
def test_in_the_foreground_it_ends_with_its_command(cli: Cli, yard: Yard, home: Path) -> None:
    started = subprocess.Popen(
        [DAMASCUS, "forge", "try", "--commit", "--foreground"], cwd=yard.repo, stdout=subprocess.PIPE, text=True
    )
    try:
        assert started.stdout is not None
        eventually(lambda: "Ctrl-C here ends the forge" in (started.stdout.readline() if started.stdout else ""), 60)
        server = server_of(home)
        assert server.running
    finally:
        started.send_signal(signal.SIGTERM)
    assert started.wait(30) == 0
    assert not server.running and not any(child.alive for child in server.runners.values())


@pytest.mark.req("D8")
def test_without_the_programs_or_a_repository_it_says_what_to_do(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAMASCUS_FORGE_DIR", str(tmp_path))
    ran = cli("forge", "try")
    assert ran.code == 1 and "Gitea 1.26.4 is not built. In a clone of Damascus: make forge" in ran.error
    monkeypatch.chdir("/")
    assert "is not in a git repository" in cli("forge", "try").error


@pytest.mark.req("D8")
def test_a_data_folder_that_is_closed_to_the_server_has_it_elsewhere(cli: Cli, yard: Yard, home: Path) -> None:
    """The yard's own folder is below one that only its owner may pass; without root that is fine."""
    closed = yard.folder / "home"
    os.environ["DAMASCUS_HOME"] = str(closed)  # monkeypatched by `home`, so it is put back
    ran = cli("forge", "try", "--commit", "--json")
    try:
        assert ran.code == 0, ran.err
        assert ran.json["token_file"] == str(closed / "forge" / "token")
        where = Path(ran.json["log"]).parent
        assert (where == closed / "forge") == (os.geteuid() != 0)
    finally:
        cli("forge", "stop")
        if os.geteuid() == 0:
            shutil.rmtree(Path(ran.json["log"]).parent)


@pytest.mark.req("D8")
def test_a_folders_name_becomes_one_that_the_forge_takes() -> None:
    names = ["calc", "my project", "Ünï", "...", "a.git", "x/../y"]
    assert [repository_name(name) for name in names] == ["calc", "my-project", "n", "project", "a", "x-..-y"]
