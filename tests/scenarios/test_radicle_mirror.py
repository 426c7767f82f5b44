"""The mirror job for real: CI pushes main to a Radicle repository, and the story is done once it is there (W1, W2)."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from damascus.trial_forge.programs import as_user, give
from damascus.trial_forge.server import GiteaServer
from tests.real_forge import WORKFLOW
from tests.scenarios.on_gitea import GiteaYard
from tests.waiting import eventually
from tests.yard import PERSON

LABEL = "mirror-runner"
MIRROR_JOB = f"""\
  mirror:
    if: github.ref == 'refs/heads/main'
    runs-on: {LABEL}
    steps:
      - run: |
          git init -q .
          git fetch -q "${{{{ github.server_url }}}}/${{{{ github.repository }}}}" "${{{{ github.sha }}}}"
          git checkout -q FETCH_HEAD
          test "$(git log -1 --format=%s)" = start || while ! test -e "$HOME/go"; do sleep 0.1; done
          git push -o no-sync "$MIRROR" HEAD:refs/heads/main
"""
"""On main alone. A story's commit is not mirrored before the test lets it."""


@dataclass(frozen=True)
class Mirror:
    """A runner that may push to a repository outside of the forge, and that repository."""

    server: GiteaServer
    name: str
    environ: dict[str, str]

    @property
    def home(self) -> Path:
        return self.server.folder / f"runner-{self.name}" / "home"

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """As the runner's user, to whom the repository belongs."""
        env = {**PERSON, "HOME": str(self.home), **self.environ}
        how = as_user(self.server.account.runner)
        done = subprocess.run(words, cwd=cwd or self.home, env=env, capture_output=True, text=True, timeout=120, **how)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def start(self, address: str) -> None:
        self.server.start_runner(self.name, (LABEL,), environ={**self.environ, "MIRROR": address})

    def main(self, address: str) -> str:
        return self.run("git", "ls-remote", address, "refs/heads/main").partition("\t")[0]


def prepared(server: GiteaServer, name: str, **environ: str) -> Mirror:
    mirror = Mirror(server, name, {"PATH": os.environ["PATH"], **environ})
    for folder in (mirror.home.parent, mirror.home):
        give(folder, server.account.runner)
    return mirror


def on_radicle(server: GiteaServer, programs: Path, clone: str) -> tuple[Mirror, str]:
    """An identity of its own without a node: nothing leaves this machine."""
    path = f"{programs}:{os.environ['PATH']}"
    home = server.folder / "runner-radicle" / "home" / "rad"
    secret = {"RAD_PASSPHRASE": "radicle", "RAD_KEYGEN_SEED": "f" * 64, "RAD_SOCKET": "/dev/null"}
    mirror = prepared(server, "radicle", PATH=path, RAD_HOME=str(home), **secret)
    mirror.run("rad", "auth", "--alias", "bot")
    mirror.run("git", "clone", "--quiet", clone, "work")
    work = mirror.home / "work"
    how = ("--description", "d", "--default-branch", "main", "--public", "--no-confirm", "--no-seed")
    mirror.run("rad", "init", "--name", "work", *how, cwd=work)
    return mirror, mirror.run("git", "config", "remote.rad.pushurl", cwd=work)


def mirrored_last(site: GiteaYard, mirror: Mirror, address: str, now: Callable[[], str]) -> None:
    """The story's whole life: landed first, done once the mirror has it."""
    mirror.start(address)
    start = site.main()
    try:
        site.add_good("one")
        with site.working():
            eventually(lambda: site.item("one")["wait_kind"] == "mirror", 120, "the story to wait for the mirror")
            landed = site.forge_main()
            assert landed != start and site.item("one")["phase"] == "merge", "landed, and not done"
            assert now() == start, "the mirror does not have it yet"
            (mirror.home / "go").touch()
        site.check("one")
    finally:
        site.server.stop_runner(mirror.name)
    assert now() == landed == site.forge_main() == site.item("one")["merged_commit"]
    [told] = site.events("one", "ci.mirrored")
    assert told["body"]["state"] == "mirror success" and told["body"]["commit"] == landed
    states = {job["conclusion"] for job in site.jobs(landed) if job["name"] == "mirror"}
    assert states == {"skipped", "success"}, "skipped on the story's branch: that is no proof"


def mirroring(tmp_path: Path, database_url: str, server: GiteaServer) -> GiteaYard:
    files = {".gitea/workflows/ci.yml": WORKFLOW + MIRROR_JOB}
    return GiteaYard(tmp_path, database_url, server, files=files, ci='mirror_job = "mirror"')


@pytest.mark.req("W1", "W2")
def test_a_story_is_done_once_ci_has_pushed_main_to_radicle(
    real_gitea: GiteaServer, radicle: Path, tmp_path: Path, database_url: str
) -> None:
    site = mirroring(tmp_path, database_url, real_gitea)
    mirror, address = on_radicle(real_gitea, radicle, f"{real_gitea.url}/{site.path}.git")
    mirrored_last(site, mirror, address, lambda: mirror.main(address))


@pytest.mark.req("W1", "W2")
def test_a_story_is_done_once_ci_has_pushed_main_to_another_git_repository(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    site = mirroring(tmp_path, database_url, real_gitea)
    mirror = prepared(real_gitea, "plain")
    mirror.run("git", "clone", "--quiet", "--bare", f"{real_gitea.url}/{site.path}.git", "mirror.git")
    address = str(mirror.home / "mirror.git")
    mirror.run("git", "-C", address, "config", "receive.advertisePushOptions", "true")
    mirrored_last(site, mirror, address, lambda: mirror.main(address))
