"""Gate scope: git's word on every path."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.gates.scope import ScopeGate
from damascus.git.trees import TreeEntry
from tests.gates.judging import CODE, Judging, verdicts


@pytest.mark.req("D6")
def test_paths_in_scope_pass_and_each_other_one_is_named(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    assert ScopeGate(judging.mirror).check(judging.candidate(CODE)).findings == []
    result = ScopeGate(judging.mirror).check(judging.candidate(CODE | {"other.py": "x", "README.md": None}))
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
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({path: "x"}, scope=(path, "**"), acceptance="held/out/")
    result = ScopeGate(judging.mirror).check(candidate)
    assert verdicts(result) == ["scope_violation"] and result.findings[0].paths == [path]


@pytest.mark.req("D6")
def test_git_attributes_only_when_the_scope_names_them(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    files = {"sub/.gitattributes": "* filter=x\n"}
    assert verdicts(ScopeGate(judging.mirror).check(judging.candidate(files, scope=("sub/",)))) == ["scope_violation"]
    assert verdicts(ScopeGate(judging.mirror).check(judging.candidate(files, scope=("sub/.gitattributes",)))) == []


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
    link = TreeEntry("120000", judging.mirror.write_blob(target.encode()))
    result = ScopeGate(judging.mirror).check(judging.candidate({path: link}))
    assert verdicts(result) == (["scope_violation"] if refused else [])


@pytest.mark.req("D6")
def test_a_name_that_no_row_could_hold_is_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({"tests/\udcff.py": "x"})
    result = ScopeGate(judging.mirror).check(candidate)
    assert verdicts(result) == ["scope_violation"] and "udcff" in result.model_dump_json()


@pytest.mark.req("D6")
def test_a_nested_repository_is_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({"tests/nested": TreeEntry("160000", judging.base)})
    assert verdicts(ScopeGate(judging.mirror).check(candidate)) == ["scope_violation"]


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("added", "why"),
    [
        ("src/.GIT/config", "git's own"),
        ("src/git~1/x", "git's own"),
        ("src/.g\u200cit/config", "git's own"),
        ("src/.GITMODULES", ""),
        ("src/a\\b.py", "backslash"),
        ("src/a\x07.py", "control character"),
        ("src/a.py ", "dot or a space"),
        ("src/IO.py", "the same name as src/io.py"),
        ("Src/new.py", "the same name as src"),
    ],
    ids=ascii,
)
def test_a_tree_that_would_harm_others_is_refused_by_name(tmp_path: Path, added: str, why: str) -> None:
    judging = Judging.of(tmp_path)
    base = judging.commit({"src/io.py": "1", "src/odd\\name.py": "1"})
    judging = replace(judging, base=base)
    candidate = judging.candidate({added: "x"}, scope=("src/", "Src/"))
    [finding] = ScopeGate(judging.mirror).check(candidate).findings
    assert finding.verdict == "scope_violation" and why in finding.message


@pytest.mark.req("D6")
def test_what_the_base_has_already_is_left_alone(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    base = judging.commit({"src/odd\\name.py": "1", "src/A.py": "1", "src/a.py": "1"})
    judging = replace(judging, base=base)
    candidate = judging.candidate({"src/odd\\name.py": "2", "src/A.py": "2"}, scope=("src/",))
    assert ScopeGate(judging.mirror).check(candidate).findings == []


@pytest.mark.req("D6")
def test_what_git_itself_refuses_strictly_is_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    harmful = '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n'
    candidate = judging.candidate({".gitmodules": harmful}, scope=(".gitmodules",))
    [finding] = ScopeGate(judging.mirror).check(candidate).findings
    assert "gitmodules" in finding.message.lower()
    honest = judging.candidate({"src/naïve file.py": "x", "src/[id].tsx": "x"}, scope=("src/",))
    assert ScopeGate(judging.mirror).check(honest).findings == []


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    "path",
    ["app/.claude/settings.json", "app/CLAUDE.md", "app/.vscode/tasks.json", "app/.envrc", "app/sitecustomize.py"],
)
def test_what_tools_obey_by_its_name_must_be_named(tmp_path: Path, path: str) -> None:
    judging = Judging.of(tmp_path)
    gate = ScopeGate(judging.mirror)
    covered = gate.check(judging.candidate({path: "x\n"}, scope=("app/",)))
    assert verdicts(covered) == ["scope_violation"] and "the scope must name it" in covered.findings[0].message
    named = path if path.count("/") == 1 else f"{path.rpartition('/')[0]}/"
    assert gate.check(judging.candidate({path: "x\n"}, scope=(named,))).findings == []


TURNED = "def allowed(user):\n    return user.admin  # \u202e } or is_guest(user)\u2066\n"
"""As people see it, the comment ends before the code does."""


@pytest.mark.req("D6")
def test_code_that_is_shown_in_another_order_than_it_runs_is_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    gate = ScopeGate(judging.mirror)
    [finding] = gate.check(judging.candidate({"src.py": TURNED})).findings
    assert finding.verdict == "scope_violation" and "reads otherwise than it runs" in finding.message
    escaped = 'MARK = "\\u202e"\nRIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd\u200f"\n'
    honest = judging.candidate({"src.py": escaped, "docs/rtl.md": TURNED}, scope=("src.py", "docs/"))
    assert gate.check(honest).findings == []


def test_what_the_base_shows_in_another_order_is_left_alone(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"src.py": TURNED})
    assert ScopeGate(judging.mirror).check(judging.candidate({"src.py": TURNED + "X = 1\n"})).findings == []


@pytest.mark.req("A8")
def test_what_is_written_beside_the_graph_is_no_tasks_to_land(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    forged = {path: "all is DONE\n" for path in ("CHECKPOINT.md", "plan/DECISIONS.md", "plan/TASK-GRAPH.md")}
    result = ScopeGate(judging.mirror).check(judging.candidate(forged, scope=("**",), graph="plan/TASK-GRAPH.md"))
    assert verdicts(result) == ["scope_violation"] and sorted(result.findings[0].paths) == sorted(forged)
    story = judging.candidate(forged, scope=("**",))
    assert ScopeGate(judging.mirror).check(story).findings == [], "a story that is no task has its person's scope"
