"""The forge that tests and `forge try` start: healthy, private, found again after a restart, ended without a rest."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import DamascusError
from damascus.system import procfs
from damascus.trial_forge.programs import OLDER, VERSION, find_programs
from damascus.trial_forge.server import GiteaServer
from tests.real_forge import WORKFLOW, Planted, plant
from tests.rules.tree import ROOT
from tests.waiting import eventually

LONG = WORKFLOW.replace("sh ./check", "sleep 61")


def jobs(planted: Planted) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = planted.server.api("GET", f"/repos/{planted.full_name}/actions/tasks").json()[
        "workflow_runs"
    ]
    return found or []


def ended(planted: Planted, sha: str, limit: float = 60.0) -> str:
    def settled() -> str:
        states = {job["status"] for job in jobs(planted) if job["head_sha"] == sha}
        return "" if not states or states & {"running", "waiting"} else ",".join(sorted(states))

    return eventually(settled, limit, f"the end of CI of {sha}")


@pytest.mark.req("D8")
def test_a_push_is_run_by_the_real_runner_green_and_red(real_gitea: GiteaServer, tmp_path: Path) -> None:
    planted = plant(real_gitea, tmp_path, {".gitea/workflows/ci.yml": WORKFLOW, "check": "git --version"})
    assert ended(planted, planted.tip) == "success"
    red = planted.commit({"check": "exit 3"})
    planted.git("push", "origin", "HEAD:refs/heads/mq/1")
    assert ended(planted, red) == "failure"


@pytest.mark.req("D8")
def test_a_restart_finds_repository_token_and_runner(gitea_alone: GiteaServer, tmp_path: Path) -> None:
    server = gitea_alone
    planted = plant(server, tmp_path, {".gitea/workflows/ci.yml": WORKFLOW, "check": "true"})
    server.start_runner()
    assert ended(planted, planted.tip) == "success"
    url = server.url
    server.restart(kill=True)
    assert server.url == url
    again = planted.commit({"check": "true # again"})
    planted.git("push", "origin", "main")
    assert ended(planted, again) == "success"


@pytest.mark.req("D8", "T1")
def test_a_killed_runner_takes_its_job_along_and_another_works_on(gitea_alone: GiteaServer, tmp_path: Path) -> None:
    server = gitea_alone
    planted = plant(server, tmp_path, {".gitea/workflows/ci.yml": LONG, "check": "true"})
    lost = planted.tip
    server.start_runner()
    eventually(lambda: sleeping(server), 30, "the job's process")
    server.stop_runner(kill=True)
    assert sleeping(server) == []
    assert ended(planted, lost) in ("failure", "cancelled")
    server.start_runner("two")
    planted.commit({".gitea/workflows/ci.yml": WORKFLOW})
    planted.git("push", "origin", "main")
    assert ended(planted, planted.tip) == "success"


def sleeping(server: GiteaServer) -> list[int]:
    """The steps of `LONG` that live: their working folder is below the server's."""
    found = []
    for each in procfs.table().values():
        with suppress(OSError):  # one that has just ended
            if each.name == "sleep" and os.readlink(f"/proc/{each.pid}/cwd").startswith(str(server.folder)):
                found.append(each.pid)
    return found


@pytest.mark.req("D8")
def test_what_was_stopped_is_gone_and_starts_again_as_it_was(gitea_alone: GiteaServer) -> None:
    server = gitea_alone
    server.create_repository("kept")
    server.start_runner()
    family = [server.gitea, *server.runners.values()]
    seen = GiteaServer.open(server.folder, server.programs)
    assert seen is not None and seen.running and seen.token == server.token
    seen.stop()
    assert not any(child.alive for child in family if child)
    again = GiteaServer.start(server.folder, server.programs, tied=True)
    try:
        assert (again.url, again.token) == (server.url, server.token)
        assert again.api("GET", f"/repos/{again.user}/kept").json()["has_actions"]
    finally:
        again.stop()


@pytest.mark.req("D8")
def test_its_secrets_are_in_private_files_and_in_no_argument(gitea_alone: GiteaServer) -> None:
    server = gitea_alone
    server.start_runner()
    hidden = [server.token, server.password, server.settings.registration]
    for child in (server.gitea, *server.runners.values()):
        assert child is not None
        line = Path(f"/proc/{child.pid}/cmdline").read_text()
        assert not any(secret in line for secret in hidden)
    assert stat.S_IMODE((server.folder / "server.json").stat().st_mode) == 0o600
    told = (server.folder / "gitea.log").read_text() + (server.folder / "runner-one.log").read_text()
    assert not any(secret in told for secret in hidden)


@pytest.mark.req("D8")
def test_neither_gitea_nor_a_job_is_root_and_a_job_can_not_read_the_forges_files(
    real_gitea: GiteaServer, tmp_path: Path
) -> None:
    """Without root there is one account for all; a job is then as free as whoever started the runner."""
    server, account = real_gitea, real_gitea.account
    assert server.gitea is not None
    assert Path(f"/proc/{server.gitea.pid}").stat().st_uid == (account.server or os.geteuid()) != 0
    closed = f"! ls {server.folder}/gitea && ! cat {server.folder}/server.json" if account.server else "true"
    check = f"test $(id -u) = {account.runner or os.geteuid()} && {closed}"
    planted = plant(server, tmp_path, {".gitea/workflows/ci.yml": WORKFLOW, "check": check})
    assert ended(planted, planted.tip) == "success"


@pytest.mark.req("D8")
def test_a_second_start_in_the_same_folder_is_refused(real_gitea: GiteaServer) -> None:
    with pytest.raises(DamascusError, match=f"is already running at {real_gitea.url}"):
        GiteaServer.start(real_gitea.folder, real_gitea.programs)


@pytest.mark.req("D8")
def test_an_older_gitea_runs_jobs_too(older_gitea: GiteaServer, tmp_path: Path) -> None:
    assert older_gitea.api("GET", "/version").json() == {"version": OLDER}
    planted = plant(older_gitea, tmp_path, {".gitea/workflows/ci.yml": WORKFLOW, "check": "true"})
    assert ended(planted, planted.tip) == "success"


@pytest.mark.req("D8")
def test_without_the_programs_it_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(DamascusError, match=r"make forge, which needs Go 1\.26 \(not found\)"):
        find_programs({"DAMASCUS_FORGE_DIR": str(tmp_path), "PATH": str(tmp_path)})
    with pytest.raises(DamascusError, match="make forge forge-older"):
        find_programs({"XDG_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}, OLDER)


@pytest.mark.req("D8")
def test_the_versions_are_those_of_the_modules() -> None:
    for folder, version in (("forge", VERSION), ("forge-1.25", OLDER)):
        assert f"code.gitea.io/gitea v{version}\n" in (ROOT / "tools" / folder / "go.mod").read_text()
