"""Issues of each forge against the one contract; imported from there, and closed by the pull request (X15)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import UsageError
from damascus.domain.ports import Issues
from damascus.domain.spec import parse_spec
from damascus.forges.gitea.issues import GiteaIssues
from damascus.forges.issues import make_issues
from damascus.tasks.importers.issues import IssueText, closes, record_of
from damascus.trial_forge.server import GiteaServer
from tests.forges.scripted_gitea import PATH, Asked, Reply, ScriptedGitea, scripted
from tests.forges.scripted_github import TOKEN, scripted_github
from tests.real_forge import plant
from tests.yard import story

pytest.register_assert_rewrite("tests.contracts.issue_contract")

from tests.contracts.issue_contract import IssueContract, IssueWorld  # noqa: E402

URL = "https://forge.example/o/r"


class _Rows(IssueWorld):
    """Issues as a list of rows."""

    def __init__(self, issues: Issues) -> None:
        self.issues = issues
        self.rows: list[dict[str, Any]] = []

    def open_issue(self, title: str, body: str, labels: tuple[str, ...] = ()) -> int:
        told = {"number": len(self.rows) + 1, "title": title, "body": body or None, "state": "open"}
        self.rows.append(told | {"labels": [{"name": each} for each in labels], "pull_request": None})
        return len(self.rows)

    def close_issue(self, number: int) -> None:
        self.rows[number - 1]["state"] = "closed"

    def open_pull(self, label: str) -> None:
        self.open_issue("a pull", "", (label,))
        self.rows[-1]["pull_request"] = {"url": "…"}

    def page(self, query: Any, size: int) -> list[dict[str, Any]]:
        """Newest first, as forges tell them."""
        told = [row for row in reversed(self.rows) if row["state"] == query["state"]]
        told = [row for row in told if query["labels"] in [each["name"] for each in row["labels"]]]
        start = (int(query["page"]) - 1) * size
        return told[start : start + size]


class ScriptedGiteaIssues(_Rows):
    def __init__(self, server: ScriptedGitea) -> None:
        super().__init__(GiteaIssues(server.api, PATH))
        server.on("GET", "/issues", self.answer)

    def answer(self, asked: Asked) -> Reply:
        assert asked.query["type"] == "issues"
        return Reply(body=self.page(asked.query, 50), headers={})


class TestScriptedGitea(IssueContract):
    @pytest.fixture
    def world(self) -> Iterator[IssueWorld]:
        with scripted("1.26.4") as server:
            yield ScriptedGiteaIssues(server)


class TestScriptedGithub(IssueContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> Iterator[IssueWorld]:
        with scripted_github(tmp_path) as github:
            config = ForgeConfig.model_validate({"kind": "github", "url": github.url})
            world = _Rows(make_issues(config, {"DAMASCUS_FORGE_TOKEN": TOKEN}))
            github.issues = lambda query: world.page(query, 50)
            yield world


class GiteaIssueWorld(IssueWorld):
    """A repository of its own on a running Gitea."""

    def __init__(self, server: GiteaServer, folder: Path) -> None:
        self.server, self.planted = server, plant(server, folder, {"base.py": "1\n"})
        self.path = f"/repos/{self.planted.full_name}"
        config = ForgeConfig.model_validate({"kind": "gitea", "url": self.planted.url})
        self.issues = make_issues(config, {"DAMASCUS_FORGE_TOKEN": server.token})
        self.labels: dict[str, int] = {}

    def label(self, name: str) -> int:
        if name not in self.labels:
            made = self.server.api("POST", f"{self.path}/labels", {"name": name, "color": "#00aabb"})
            self.labels[name] = int(made.json()["id"])
        return self.labels[name]

    def open_issue(self, title: str, body: str, labels: tuple[str, ...] = ()) -> int:
        told = {"title": title, "body": body, "labels": [self.label(each) for each in labels]}
        return int(self.server.api("POST", f"{self.path}/issues", told).json()["number"])

    def close_issue(self, number: int) -> None:
        self.server.api("PATCH", f"{self.path}/issues/{number}", {"state": "closed"})

    def open_pull(self, label: str) -> None:
        self.planted.git("checkout", "-q", "-b", "other")
        self.planted.commit({"more.py": "1\n"}, "more")
        self.planted.git("push", "-q", "origin", "other")
        told = {"title": "p", "head": "other", "base": "main", "labels": [self.label(label)]}
        self.server.api("POST", f"{self.path}/pulls", told)


class TestGitea(IssueContract):
    @pytest.fixture
    def world(self, real_gitea: GiteaServer, tmp_path: Path) -> IssueWorld:
        return GiteaIssueWorld(real_gitea, tmp_path)


# ── what becomes of one ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X15.4")
def test_the_local_forge_has_no_issues_and_says_so() -> None:
    with pytest.raises(UsageError, match="The forge local has no issues"):
        make_issues(ForgeConfig.model_validate({}), {})


@pytest.mark.req("X15.4")
def test_a_spec_in_an_issue_is_that_spec_and_other_words_are_a_rough_story() -> None:
    one = record_of(f"{URL}.git", IssueText(12, "ignored", story("S-21").replace("\n", "\r\n")))
    assert one.spec is not None and one.name == "S-21"
    spec = parse_spec(one.spec, "S-21")
    assert spec.source == f"issues {URL}#12" and spec.test_command
    rough = record_of(URL, IssueText(13, "An idea", "## Acceptance criteria\n- it works in src/a.py\n", ("ui",)))
    assert (rough.spec, rough.name, rough.criteria) == (None, "issue-13", ("it works in src/a.py",))
    stolen = story("S-22").replace("---\n", '---\nsource: "issues https://forge.example/o/r#99"\n', 1)
    assert record_of(URL, IssueText(14, "t", stolen)).spec is None, "an issue speaks for itself alone"


@pytest.mark.req("X15.4")
@pytest.mark.parametrize(
    ("source", "number"),
    [
        (f"issues {URL}#12", 12),
        ("issues https://other.example/o/r#12", None),
        (f"issues {URL}#12, #13", None),
        (f"spec-kit {URL}#12", None),
        ("issues #12", None),
    ],
)
def test_only_an_issue_of_this_very_forge_is_closed(source: str, number: int | None) -> None:
    text = story("S-1").replace("---\n", f'---\nsource: "{source}"\n', 1)
    assert closes(parse_spec(text.encode(), "S-1"), f"{URL}.git") == number
    assert closes(parse_spec(story("S-1").encode(), "S-1"), URL) is None
