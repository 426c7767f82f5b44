"""`damascus forge doctor` against the real Gitea: what is well, and each thing that is not, with its cure."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from damascus.domain.check import Check
from damascus.domain.config import parse_config
from damascus.forges import doctor_questions
from damascus.forges.doctor import examine
from damascus.people.forge_trial import SCOPES
from damascus.trial_forge.server import GiteaServer
from tests.agents.upstream import free_port
from tests.cli.conftest import Cli
from tests.forges.recorded_github import TOKEN, recorded
from tests.real_forge import WORKFLOW, Planted, plant
from tests.waiting import eventually
from tests.yard import CONFIG, Yard


@dataclass(frozen=True)
class Case:
    """A repository on the forge, and the settings of a project that is worked there."""

    planted: Planted
    token: str
    url: str = ""
    more: str = ""
    environ: dict[str, str] = field(default_factory=dict)

    def settings(self) -> str:
        return f'[forge]\nkind = "gitea"\nurl = "{self.url or self.planted.url}"\n{self.more}'

    def checks(self) -> dict[str, Check]:
        environ = {"DAMASCUS_FORGE_TOKEN": self.token, **self.environ}
        return {check.name: check for check in examine(parse_config(self.settings()), environ, "main")}

    def fails(self) -> dict[str, str]:
        return {check.name: check.says for check in self.checks().values() if check.state == "fail"}

    def protect(self, name: str, **rules: object) -> None:
        self.planted.server.api("POST", f"/repos/{self.planted.full_name}/branch_protections",
                                {"rule_name": name, **rules})  # fmt: skip


@pytest.fixture(scope="module")
def least(real_gitea: GiteaServer) -> str:
    return real_gitea.new_token(SCOPES)


@pytest.fixture
def case(real_gitea: GiteaServer, least: str, tmp_path: Path) -> Case:
    return Case(plant(real_gitea, tmp_path, {".gitea/workflows/ci.yml": WORKFLOW, "check": "true"}), least)


def ran(case: Case) -> None:
    """Until a runner has taken the first job."""
    path = f"/repos/{case.planted.full_name}/actions/tasks"
    eventually(lambda: case.planted.server.api("GET", path).json()["workflow_runs"], 60, "a job that runs")


@pytest.mark.req("D8")
def test_a_fit_forge_is_fit_in_every_point_with_the_least_token(case: Case) -> None:
    ran(case)
    found = case.checks()
    assert found.pop("jobs").state in ("ok", "warn")  # main's first run may not have ended yet
    assert {name: check.state for name, check in found.items()} == dict.fromkeys(
        ["forge", "token", "repository", "rights", "actions", "workflow", "runner", "protection"], "ok"
    )


@pytest.mark.req("D8")
def test_the_command_prints_a_line_for_each_and_its_exit_code_tells(
    cli: Cli, yard: Yard, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(case)
    yard.commit({"damascus.toml": CONFIG + case.settings()}, "a forge")
    monkeypatch.setenv("DAMASCUS_FORGE_TOKEN", case.token)
    fine = cli("forge", "doctor")
    assert fine.code == 0, fine.out
    assert "ok    rights      the token may push, open pull requests and comment\n" in fine.out
    assert case.token not in fine.out + fine.err
    monkeypatch.setenv("DAMASCUS_FORGE_TOKEN", "0" * 40)
    bad = cli("forge", "doctor", "--json")
    assert bad.code == 1 and not bad.json["healthy"]
    assert [check["name"] for check in bad.json["checks"] if check["state"] == "fail"] == ["token"]


@pytest.mark.req("D8")
def test_a_token_that_lacks_a_right_is_told_which(case: Case) -> None:
    server = case.planted.server
    reads = server.new_token(("read:repository", "read:issue", "read:user"))
    assert "lacks write:repository" in replace(case, token=reads).fails()["rights"]
    silent = server.new_token(("write:repository", "read:user"))
    assert "lacks write:issue" in replace(case, token=silent).fails()["rights"]
    assert list(replace(case, token="0" * 40).fails()) == ["token"]


@pytest.mark.req("D8")
def test_a_user_who_may_write_to_the_repository_is_enough(case: Case) -> None:
    """Neither its owner nor an administrator: what only those may see is not asked for in vain."""
    server, name, password = case.planted.server, f"worker-{secrets.token_hex(3)}", secrets.token_hex(12)
    server.api("POST", "/admin/users", {"username": name, "email": f"{name}@example.invalid", "password": password,
                                        "must_change_password": False})  # fmt: skip
    server.api("PUT", f"/repos/{case.planted.full_name}/collaborators/{name}", {"permission": "write"})
    made = httpx.post(f"{server.url}/api/v1/users/{name}/tokens", auth=(name, password), trust_env=False,
                      json={"name": "worker", "scopes": list(SCOPES)})  # fmt: skip
    ran(case)
    theirs = replace(case, token=made.json()["sha1"], more=f"webhook_port = {free_port()}\n")
    assert {check.name for check in theirs.checks().values() if check.state != "ok"} - {"jobs"} == {"webhook"}
    assert theirs.fails() == {}


@pytest.mark.req("D8")
def test_a_forge_that_is_away_or_has_no_such_repository_is_said_once(case: Case) -> None:
    closed = f"http://127.0.0.1:{free_port()}/damascus/calc"
    assert list(replace(case, url=closed).fails()) == ["forge"]
    nowhere = replace(case, url=f"{case.planted.server.url}/damascus/nowhere").fails()
    assert list(nowhere) == ["repository"] and "is not there" in nowhere["repository"]
    assert "not the address of a repository" in replace(case, url="calc").fails()["forge"]
    assert "needs a token" in replace(case, token="").fails()["forge"]


@pytest.mark.req("D8")
def test_a_token_file_that_others_can_read_is_noted(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(case.token)
    file.chmod(0o644)
    found = replace(case, token="", more=f'token_file = "{file}"\n').checks()
    assert found["token file"].state == "warn" and f"chmod 600 {file}" in found["token file"].says


@pytest.mark.req("D8")
def test_actions_that_are_off_are_named(case: Case) -> None:
    case.planted.server.set_repository(case.planted.name, has_actions=False)
    assert "Turn them on" in case.fails()["actions"]


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    ("workflow", "more", "says"),
    [
        (WORKFLOW, '[ci]\nrequired = ["test", "lint"]\n', "no job lint, which must be green; there is test"),
        (WORKFLOW.replace(', "mq/**"', ""), "", "does not run on pushes to mq/**"),
        (WORKFLOW.replace('"feat/**", ', ""), "", 'Add "feat/**" to on.push.branches'),
        (WORKFLOW, '[ci]\nmirror_job = "mirror"\n', "no job mirror, which [ci] mirror_job names"),
        ("on: push\njobs: [", "", "can't be read"),
    ],
    ids=["a job is missing", "not for the queue", "not for stories", "no mirror", "unreadable"],
)
def test_a_workflow_that_would_leave_a_story_waiting_is_refused(
    case: Case, workflow: str, more: str, says: str
) -> None:
    case.planted.commit({".gitea/workflows/ci.yml": workflow})
    case.planted.git("push", "-q", "origin", "main")
    eventually(case.planted.known, 30, "the new workflow on the forge")
    assert says in replace(case, more=more).fails()["workflow"]


@pytest.mark.req("D8")
def test_a_repository_without_a_workflow_is_refused(real_gitea: GiteaServer, least: str, tmp_path: Path) -> None:
    fails = Case(plant(real_gitea, tmp_path, {"check": "true"}), least).fails()
    assert list(fails) == ["workflow"]
    assert fails["workflow"].startswith("main has no workflow in .gitea/workflows, so no CI would run.")


@pytest.mark.req("D8")
def test_a_label_that_no_runner_has_is_seen_with_any_token(case: Case) -> None:
    other = WORKFLOW.replace("ubuntu-latest", "a-machine-that-is-not-there")
    case.planted.commit({".gitea/workflows/ci.yml": other})
    case.planted.git("push", "-q", "origin", "main")
    path = f"/repos/{case.planted.full_name}/actions/runs"
    eventually(lambda: case.planted.server.api("GET", path).json()["total_count"] == 2, 60, "the run that waits")
    assert "waits and no runner has taken it" in case.fails()["runner"]
    administrator = replace(case, token=case.planted.server.token).fails()["runner"]
    assert "no runner that is online takes test" in administrator and "a-machine-that-is-not-there" in administrator


@pytest.mark.req("D8", "D9")
def test_a_protected_main_is_judged_by_what_our_user_may(case: Case) -> None:
    case.protect("main", enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=["damascus"])
    assert case.checks()["protection"].state == "ok"
    path = f"/repos/{case.planted.full_name}/branch_protections/main"
    case.planted.server.api("PATCH", path, {"enable_push": False})
    by_merge = case.checks()["protection"]
    assert by_merge.state == "warn" and "the forge's own fast-forward merge" in by_merge.says
    case.planted.server.api("PATCH", path, {"required_approvals": 2})
    assert "needs approvals by people (2)" in case.fails()["protection"]


@pytest.mark.req("D8", "D9")
def test_a_rule_over_our_own_branches_is_named(case: Case) -> None:
    case.protect("mq/**", enable_push=True)
    assert "the rule mq/** protects branches like mq/1" in case.fails()["protection"]


# ── webhooks ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def hooked(case: Case) -> Iterator[Case]:
    port, secret = free_port(), secrets.token_hex(16)
    case.planted.server.api("POST", f"/repos/{case.planted.full_name}/hooks", {
        "type": "gitea", "active": True, "events": ["push", "status"],
        "config": {"url": f"http://127.0.0.1:{port}/", "content_type": "json", "secret": secret},
    })  # fmt: skip
    yield replace(case, more=f"webhook_port = {port}\n", environ={"DAMASCUS_WEBHOOK_SECRET": secret})


@pytest.mark.req("D8")
def test_a_webhook_is_tried_by_a_delivery_and_its_signature(hooked: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hooked.checks()["webhook"].says.endswith("its signature is valid")
    monkeypatch.setattr(doctor_questions, "DELIVERY_LIMIT", 2.0)
    wrong = replace(hooked, environ={"DAMASCUS_WEBHOOK_SECRET": "another"}).fails()["webhook"]
    assert "Compare the webhook's secret with DAMASCUS_WEBHOOK_SECRET" in wrong
    assert "holds no secret" in replace(hooked, environ={}).fails()["webhook"]


@pytest.mark.req("D8")
def test_a_port_without_a_webhook_is_named(case: Case) -> None:
    asked = replace(case, more=f"webhook_port = {free_port()}\n", environ={"DAMASCUS_WEBHOOK_SECRET": "x"})
    assert "no active webhook" in asked.fails()["webhook"]


# ── other forges ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D8")
def test_the_local_forge_needs_nobody(cli: Cli, yard: Yard) -> None:
    ran = cli("forge", "doctor")
    assert ran.code == 0 and "local: stories land on main of this repository" in ran.out
    yard.commit({"damascus.toml": f'{CONFIG}[ci]\nrequired = ["lint"]\n[ci.jobs]\ntest = "true"\n'}, "no such job")
    assert cli("forge", "doctor").code == 1


@pytest.mark.req("D8")
def test_a_fit_repository_on_github() -> None:
    with recorded("doctor_fit") as github:
        text = f'[forge]\nkind = "github"\nurl = "{github.host}/example/repo"\n'
        found = list(examine(parse_config(text), {"DAMASCUS_FORGE_TOKEN": TOKEN}, "main"))
    assert [(check.name, check.state) for check in found] == [
        ("repository", "ok"), ("actions", "ok"), ("workflow", "ok"), ("jobs", "ok"), ("protection", "ok"),
    ]  # fmt: skip


@pytest.mark.req("D8")
def test_a_repository_on_github_that_only_takes_pull_requests_and_does_not_test_the_queue() -> None:
    with recorded("doctor_ruled") as github:
        text = f'[forge]\nkind = "github"\nurl = "{github.host}/example/repo"\n'
        found = {c.name: c for c in examine(parse_config(text), {"DAMASCUS_FORGE_TOKEN": TOKEN}, "main")}
    assert "does not run on pushes to mq/**" in found["workflow"].says
    assert found["protection"].state == "warn" and "only pull requests may change it" in found["protection"].says
