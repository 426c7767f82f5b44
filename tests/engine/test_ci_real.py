"""CI of the real Gitea by its real runner: red and repaired, flaky, cancelled by hand, and the mirror job (W2, W7)."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from damascus.trial_forge.server import GiteaServer
from tests.engine.shell_stories import good, shell_story
from tests.scenarios.on_gitea import GiteaYard
from tests.waiting import eventually

CHECKOUT = """\
      - run: |
          git init -q .
          git fetch -q --depth 1 "${{ github.server_url }}/${{ github.repository }}" "${{ github.sha }}"
          git checkout -q FETCH_HEAD
"""
TWO_JOBS = f"""\
on:
  push:
    branches: [main, "feat/**", "mq/**"]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
{CHECKOUT}      - run: sh ./check
  lint:
    runs-on: ubuntu-latest
    steps:
{CHECKOUT}      - run: sh ./lint
"""
MIRROR = """\
  mirror:
    needs: [test, lint]
    if: "CONDITION"
    runs-on: ubuntu-latest
    steps:
      - run: touch "$HOME/mirrored-${{ github.sha }}"
"""
BOTH = 'required = ["test", "lint"]\n'
SUMMARY = "echo '=== short test summary info ==='; echo 'FAILED tests/test_one.py::test_it - no'; exit 1"


def site_of(folder: Path, url: str, server: GiteaServer, **parts: Any) -> GiteaYard:
    files = {".gitea/workflows/ci.yml": TWO_JOBS + parts.pop("jobs", ""), "lint": "true\n", **parts.pop("files", {})}
    return GiteaYard(folder, url, server, files=files, ci=BOTH + parts.pop("ci", ""))


def told(site: GiteaYard, kind: str) -> list[dict[str, Any]]:
    return [row["body"] for row in site.events("one", kind)]


@pytest.mark.req("W1", "W3", "W6", "W7")
def test_red_on_the_real_forge_is_diagnosed_and_repaired(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    """Both jobs are red, twice; the agent gets the cut logs and repairs it."""
    lint = "if grep -q forbidden one.sh; then echo one.sh:1:1: X100 forbidden word; exit 1; fi\n"
    check = f"if grep -q forbidden one.sh; then {SUMMARY}; fi\n"
    site = site_of(tmp_path, database_url, real_gitea, files={"lint": lint, "check": check})
    site.tries["one"] = [good("one", **{"one.sh": "echo hello one # forbidden\n"}), good("one")]
    site.add(shell_story("one"))
    given: list[Any] = []
    site.go(before=lambda brief, _: given.append(brief))
    item = site.item("one")
    assert (item["phase"], item["attempts"]) == ("done", 1), site.told()
    assert [body["why"] for body in told(site, "ci.again")] == ["doubt"]
    [fixing] = [body["line"] for body in told(site, "milestone.changed") if body["milestone"] == "FIXING_CI"]
    assert fixing == "FIXING_CI: test, lint - 1 test failed: tests/test_one.py::test_it"
    feedback = given[1].feedback
    assert feedback.failing_tests == ["lint", "tests/test_one.py::test_it"]
    assert "── job lint [lint]: one.sh:1:1: X100 forbidden word" in feedback.test_output
    assert "received task" not in feedback.test_output and "received task" in Path(feedback.log).read_text()
    red, again, green = told(site, "ci.finished")
    assert red["commit"] == again["commit"] != green["commit"] == item["merged_commit"]
    done = [body["line"] for body in told(site, "milestone.changed") if body["milestone"] == "DONE"]
    assert f"CI run #{green['run']} all green (" in done[-1] and green["run"] not in ("", red["run"])


@pytest.mark.req("W7")
def test_a_flaky_test_of_the_real_forge_is_recognised(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    flaky = f'tried=$HOME/t-$(git rev-parse HEAD)\nif test ! -e "$tried"; then touch "$tried"; {SUMMARY}; fi\n'
    site = site_of(tmp_path, database_url, real_gitea, files={"check": flaky})
    site.add_good("one")
    site.go()
    site.check("one")
    assert {body["test"] for body in told(site, "test.flaky")} == {"tests/test_one.py::test_it"}
    assert "tests/test_one.py::test_it" in site.comments("one")[0]


@pytest.mark.req("W7", "T1")
def test_a_run_cancelled_by_hand_is_started_again(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> None:
    slow = (
        'tried=$HOME/c-$(git rev-parse HEAD)\nif test -e one.sh -a ! -e "$tried"; then touch "$tried"; sleep 12; fi\n'
    )
    site = site_of(tmp_path, database_url, real_gitea, files={"check": slow})
    site.add_good("one")
    with site.working():
        eventually(lambda: _running(site), 60, "a job that runs")
        _cancel(site)
    site.check("one")
    assert [body["why"] for body in told(site, "ci.again")] == ["infrastructure"]
    assert len(told(site, "agent.started")) == 1


def _running(site: GiteaYard) -> bool:
    runs = site.api("GET", "/actions/runs")["workflow_runs"]
    return any(run["status"] == "in_progress" and run["head_branch"] == "feat/one" for run in runs)


def _cancel(site: GiteaYard) -> None:
    """As a person does it in the browser: this version has no API for it."""
    server = site.server
    [run] = [row for row in site.api("GET", "/actions/runs")["workflow_runs"] if row["head_branch"] == "feat/one"]
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as browser:
        form = {"user_name": server.user, "password": server.password}
        assert browser.post("/user/login", data=form).status_code == 303
        page = run["html_url"].removeprefix(server.url)
        assert browser.post(f"{page}/cancel").status_code == 200


# ── the mirror job ────────────────────────────────────────────────────────────────────────────────────


def mirror(condition: str) -> dict[str, str]:
    return {"jobs": MIRROR.replace("CONDITION", condition), "ci": 'mirror_job = "mirror"\nno_run_seconds = 5.0\n'}


@pytest.mark.req("W1", "W2", "W4")
def test_a_mirror_job_on_main_is_awaited(real_gitea: GiteaServer, tmp_path: Path, database_url: str) -> None:
    site = site_of(tmp_path, database_url, real_gitea, **mirror("github.ref == 'refs/heads/main'"))
    site.add_good("one")
    site.go()
    site.check("one")
    [mirrored] = told(site, "ci.mirrored")
    assert mirrored["commit"] == site.item("one")["merged_commit"]
    done = [body["line"] for body in told(site, "milestone.changed") if body["milestone"] == "DONE"]
    assert "mirror: mirror awaited on main" in done[0] and done[-1].endswith("mirror: mirror success")


@pytest.mark.req("W2")
def test_a_mirror_job_that_is_skipped_gets_one_push_event(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    """It runs for our empty commit only: skipped on the landed one, success on the one after."""
    own = "startsWith(github.event.head_commit.message, 'ci: mirror')"
    site = site_of(tmp_path, database_url, real_gitea, **mirror(own))
    site.add_good("one")
    site.go()
    item = site.item("one")
    assert item["phase"] == "done", site.told()
    assert site.git("rev-parse", f"{site.forge_main()}^") == item["merged_commit"]
    assert told(site, "ci.mirrored")[0]["commit"] == site.forge_main()


@pytest.mark.req("W2")
def test_a_mirror_job_that_is_always_skipped_is_a_persons_affair(
    real_gitea: GiteaServer, tmp_path: Path, database_url: str
) -> None:
    site = site_of(tmp_path, database_url, real_gitea, **mirror("false"))
    site.add_good("one")
    site.go()
    item = site.item("one")
    assert (item["phase"], item["attempts"]) == ("blocked", 0), site.told()
    assert "was skipped again, after an empty commit was pushed" in site.questions()[0]
    assert site.git("rev-list", "--count", f"{item['candidate']}..{site.forge_main()}") == "1"
