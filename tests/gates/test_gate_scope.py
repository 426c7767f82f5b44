"""Gate scope: git's word on every path."""

from pathlib import Path

import pytest

from damascus.gates.scope import ScopeGate
from damascus.git.objects import Entry
from tests.gates.judging import CODE, Judging, verdicts


@pytest.mark.req("D6")
def test_paths_in_scope_pass_and_each_other_one_is_named(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    assert ScopeGate().check(judging.candidate(CODE)).findings == []
    result = ScopeGate().check(judging.candidate(CODE | {"other.py": "x", "README.md": None}))
    assert verdicts(result) == ["scope_violation"]
    assert result.findings[0].paths == ["README.md", "other.py"]


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    "path",
    [
        "damascus.toml",
        ".github/workflows/ci.yml",
        ".ci/run",
        ".gitlab-ci.yml",
        ".gitea/workflows/new.yml",
        "held/out/t.py",
    ],
)
def test_what_judges_the_work_is_refused_whatever_the_scope_says(tmp_path: Path, path: str) -> None:
    candidate = Judging.of(tmp_path).candidate({path: "x"}, scope=(path, "**"), acceptance="held/out/")
    result = ScopeGate().check(candidate)
    assert verdicts(result) == ["scope_violation"] and result.findings[0].paths == [path]


@pytest.mark.req("D6")
def test_git_attributes_only_when_the_scope_names_them(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    files = {"sub/.gitattributes": "* filter=x\n"}
    assert verdicts(ScopeGate().check(judging.candidate(files, scope=("sub/",)))) == ["scope_violation"]
    assert verdicts(ScopeGate().check(judging.candidate(files, scope=("sub/.gitattributes",)))) == []


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("path", "target", "refused"),
    [
        ("tests/link", "/etc/passwd", True),
        ("tests/link", "../../outside", True),
        ("tests/link", "sub/../../../outside", True),
        ("tests/link", "sub/../other", True),
        ("tests/link", "../.git/config", True),
        ("tests/link", "test_old.py", False),
        ("tests/a/link", "../test_old.py", False),
    ],
)
def test_links_stay_inside(tmp_path: Path, path: str, target: str, refused: bool) -> None:
    judging = Judging.of(tmp_path)
    link = Entry("120000", judging.mirror.write_blob(target.encode()))
    result = ScopeGate().check(judging.candidate({path: link}))
    assert verdicts(result) == (["scope_violation"] if refused else [])


@pytest.mark.req("D6")
def test_a_name_that_no_row_could_hold_is_refused(tmp_path: Path) -> None:
    candidate = Judging.of(tmp_path).candidate({"tests/\udcff.py": "x"})
    result = ScopeGate().check(candidate)
    assert verdicts(result) == ["scope_violation"] and "udcff" in result.model_dump_json()


@pytest.mark.req("D6")
def test_a_nested_repository_is_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({"tests/nested": Entry("160000", judging.base)})
    assert verdicts(ScopeGate().check(candidate)) == ["scope_violation"]
