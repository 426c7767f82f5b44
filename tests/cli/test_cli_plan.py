"""`damascus plan IDEA.md`: queued as PLAN-1, or one sentence."""

from pathlib import Path

import pytest

from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Kind
from tests.cli.conftest import Cli
from tests.yard import Yard


@pytest.mark.req("X15.2")
def test_an_idea_is_queued_as_a_plan(cli: Cli, yard: Yard, tmp_path: Path) -> None:
    idea = tmp_path / "IDEA.md"
    idea.write_text("\n# A shop: 'things' & \"more\"\n## Requirements\n- REQ-001: x\n```\n# not closed\n")
    done = cli("plan", str(idea))
    assert (
        done.code == 0
        and "PLAN-1 A shop: 'things'" in done.out
        and "nothing is built before you approve" in " ".join(done.out.split())
    )
    spec = parse_spec(bytes(yard.item("PLAN-1")["spec"]))
    assert (spec.kind, spec.requirements, spec.test_command) == (Kind.PLAN, (), "true")
    assert spec.scope is not None and spec.scope.patterns == ("TASK-GRAPH.md", "plans/PLAN-1/")
    assert "> - REQ-001: x" in spec.body
    assert cli("plan", str(idea), "--json").json == {
        "story": "PLAN-2", "title": "A shop: 'things' & \"more\"", "graph": "TASK-GRAPH.md",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"), (b"", "says nothing"), (b"\xff\xfe", "not UTF-8"), (b"a\0b", "NUL"),
        (b"x" * 10_000_000, "larger than"), ("\u200b\u2060".encode(), "says nothing"),
    ],
    ids=["missing", "empty", "bytes", "NUL", "10 MB", "unseen"],
)  # fmt: skip
def test_what_is_no_idea_is_one_sentence(
    cli: Cli, yard: Yard, tmp_path: Path, content: bytes | None, said: str
) -> None:
    idea = tmp_path / "IDEA.md"
    if content is not None:
        idea.write_bytes(content)
    refused = cli("plan", str(idea))
    assert refused.code == 2 and said in refused.error and "Traceback" not in refused.err
    assert cli("plan", str(tmp_path)).code == 2
    assert yard.query("SELECT id FROM work_items") == []
