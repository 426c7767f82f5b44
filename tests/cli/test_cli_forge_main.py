"""`status` knows main where stories land, not the folder's own."""

from pathlib import Path

import pytest

from damascus.trial_forge.server import GiteaServer
from tests.cli.conftest import Cli
from tests.scenarios.on_gitea import GiteaYard


def test_status_shows_the_forges_main(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = GiteaYard(tmp_path, database_url, real_gitea)
    for name, value in site.app.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(site.repo)
    stale = site.main()
    site.add_good("one")
    site.go()
    landed = site.item("one")["merged_commit"]
    assert site.main() == stale != landed, "the folder's own main is as it was"
    shown = command("status").out
    assert f"main at {landed[:7]}" in shown and stale[:7] not in shown
