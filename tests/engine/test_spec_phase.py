"""A rough story: asked of the refiner if there is one, else of a person; accepted, it is frozen anew."""

from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.spec import digest
from damascus.store import people
from damascus.store.receipts import evidence
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

SAID = "Somebody should say hello."
ROUGH = f"---\nstory: one\ntitle: Say hello\n---\n{SAID}\n"
REFINER = config().replace("[agent]\n", "[agent]\nrefiner = true\n")
AUTO = REFINER.replace("refiner = true\n", "refiner = true\nrefiner_approval = 'auto'\n")
NOBODY = "the spec: refined by an agent, approved by nobody"


def whole(**parts: object) -> str:
    """The rough story with all that it lacks, as an honest refiner leaves it."""
    return shell_story("one", title="Say hello", **parts).replace("\n---\n##", f"\n---\n{SAID}\n\n##")


def unverified(yard: Yard) -> list[str]:
    return list(evidence(yard.db, yard.row, "one")["unverified"])


def refined(yard: Yard, text: str | None, **report: object) -> Watched:
    """An agent that leaves `text` as its artifact's spec.md, and does the story's work afterwards."""

    def before(brief: object, workspace: Path) -> None:
        if brief.role == "spec-refiner" and text is not None:  # type: ignore[attr-defined]
            (Path(brief.artifacts) / "spec.md").write_text(text)  # type: ignore[attr-defined]

    refine = {"only_role": "spec-refiner", "report": report}
    return Watched(yard, {"one": [refine, {"only_role": "code-implementer", **good("one")}]}, before)


@pytest.fixture
def yard(tmp_path: Path, database_url: str, request: pytest.FixtureRequest) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=getattr(request, "param", REFINER))
    yard.add(ROUGH, rough=True)
    assert yard.item("one")["phase"] == "spec"
    return yard


@pytest.mark.req("D19")
def test_without_a_refiner_a_person_is_asked_for_what_is_missing(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(ROUGH, rough=True)
    agent = refined(yard, None)
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["last_verdict"], item["resume_phase"], item["attempts"]) == (
        "blocked",
        "spec_ambiguous",
        "spec",
        0,
    )
    [question] = yard.questions()
    assert all(what in question for what in ("scope", "TDD Plan", "Test Command")) and agent.given == []
    assert len(yard.events("one", "blocked.spec_ambiguous")) == 1


@pytest.mark.req("D19", "D3")
@pytest.mark.parametrize("yard", [AUTO], indirect=True)
def test_a_refined_spec_is_frozen_and_built(yard: Yard) -> None:
    text = whole()
    agent = refined(yard, text)
    yard.work(agent)
    item = yard.item("one")
    assert NOBODY in unverified(yard)
    assert (item["phase"], item["rough"], item["spec_hash"]) == ("done", False, digest(text.encode()))
    assert item["file_scope"] == ["one.sh", "tests/test_one.sh"] and bytes(item["spec"]) == text.encode()
    brief, prompt, _ = agent.given[0]
    assert (brief.role, brief.step) == ("spec-refiner", "refine") and "Somebody should say hello" in prompt
    assert agent.given[1][0].role == "code-implementer"
    assert yard.events("one", "phase.transitioned")[0]["body"] == {"from": "spec", "to": "build"}


@pytest.mark.req("D19")
def test_a_refined_spec_is_built_as_a_person_saw_and_approved_it(yard: Yard) -> None:
    text = whole()
    agent = refined(yard, text)
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["resume_phase"], item["rough"]) == ("blocked", "spec", True)
    [question] = yard.questions()
    assert all(f"+ {line}" in question for line in ("scope: ['one.sh', 'tests/test_one.sh']", "sh tests/test_one.sh"))
    assert f"  {SAID}" in question and "  title: Say hello" in question

    people.use_spec(yard.db, yard.row.id, "one")
    assert yard.questions() == []
    yard.work(refined(yard, whole(requirements={"REQ-009": "quite another one"})))
    item = yard.item("one")
    assert (item["phase"], item["spec_hash"], bytes(item["spec"])) == ("done", digest(text.encode()), text.encode())
    assert NOBODY not in unverified(yard)
    assert len(yard.events("one", "story.spec_approved")) == 1
    assert [brief.role for brief, _, _ in agent.given] == ["spec-refiner"]


@pytest.mark.req("D19")
def test_a_retry_refines_anew_and_asks_anew(yard: Yard) -> None:
    """An approval is for one text: whoever asks for another sees that one."""
    yard.work(refined(yard, whole()))
    people.retry(yard.db, yard.row.id, "one", "with two requirements")
    other = whole(requirements={"REQ-001": "it works", "REQ-002": "it works twice"})
    yard.work(refined(yard, other))
    assert yard.item("one")["phase"] == "blocked" and "REQ-002" in yard.questions()[0]


@pytest.mark.req("D19")
def test_nothing_to_approve_is_said(yard: Yard) -> None:
    with pytest.raises(DamascusError, match="no refined spec"):
        people.use_spec(yard.db, yard.row.id, "one")
    yard.work(refined(yard, None, concerns=["In which language?"]))
    with pytest.raises(DamascusError, match="no refined spec"):
        people.use_spec(yard.db, yard.row.id, "one")


@pytest.mark.req("D19", "D6")
@pytest.mark.parametrize("yard", [AUTO], indirect=True)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (whole(kind="docs", may_remove=["tests/"]), "kind: docs was set"),
        (whole(priority=0), "priority: 0 was set"),
        (whole(depends_on=["two"]), "depends_on: two was set"),
        (whole(acceptance="held-out"), "acceptance: held-out was set"),
        (shell_story("one").replace("\n---\n##", f"\n---\n{SAID}\n\n##"), "title: Say hello became Story one"),
        (whole().replace(SAID, "Nobody should."), "the text before the first heading"),
    ],
)
def test_what_is_a_persons_is_never_the_refiners(yard: Yard, text: str, said: str) -> None:
    yard.work(refined(yard, text))
    item = yard.item("one")
    assert (item["phase"], item["last_verdict"], item["resume_phase"]) == ("blocked", "spec_wrong", "spec")
    assert said in yard.questions()[0]


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (shell_story("one").replace("## Test Command", "## Testing"), 'has no "## Test Command"'),
        (shell_story("other"), "describes other, not one"),
        (shell_story("one", scope=["damascus.toml"]), "damascus.toml"),
        ("no front matter", "no front matter"),
    ],
)
def test_a_refined_spec_that_is_wrong_goes_to_a_person(yard: Yard, text: str, said: str) -> None:
    yard.work(refined(yard, text))
    item = yard.item("one")
    assert (item["phase"], item["last_verdict"], item["resume_phase"]) == ("blocked", "spec_wrong", "spec")
    assert said in yard.questions()[0]


@pytest.mark.req("D19")
def test_the_refiners_own_questions_go_to_a_person_and_the_answer_back_to_it(yard: Yard) -> None:
    agent = refined(yard, None, concerns=["In which language?"])
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "spec_ambiguous")
    assert "In which language?" in yard.questions()[0]
    people.retry(yard.db, yard.row.id, "one", "In English")
    yard.work(refined(yard, whole()))
    people.use_spec(yard.db, yard.row.id, "one")
    yard.work(refined(yard, whole()))
    assert yard.item("one")["phase"] == "done"
    answered = refined(yard, whole())
    assert yard.item("one")["answers"] == ["In English"] and answered.given == []


@pytest.mark.req("X15.1", "D19")
def test_what_an_imported_source_leaves_open_is_asked_before_any_agent(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=REFINER)
    asked = "## Open Questions\n\n- In which language?\n"
    yard.add(f'---\nstory: one\ntitle: Say hello\nsource: "kiro a/tasks.md#1"\n---\n{SAID}\n\n{asked}', rough=True)
    agent = refined(yard, None)
    yard.work(agent)
    [question] = yard.questions()
    assert "In which language?" in question and agent.given == []
    people.retry(yard.db, yard.row.id, "one", "In English")
    yard.work(agent)
    brief, _, _ = agent.given[0]
    assert brief.role == "spec-refiner" and brief.known_issues == ["In English"]


@pytest.mark.req("D19")
@pytest.mark.parametrize("yard", [AUTO], indirect=True)
def test_two_refined_stories_never_get_one_file(yard: Yard) -> None:
    """The scope comes with the refined spec: it is asked for like any other."""
    yard.add(shell_story("two", scope=["one.sh", "tests/test_two.sh"], command="sh tests/test_two.sh"))
    two = {
        "write": {"one.sh": "echo hello two\n", "tests/test_two.sh": '# REQ-001\ntest "$(sh one.sh)" = "hello two"\n'}
    }
    one = refined(yard, whole())
    one.inner = Watched(yard, {"one": [{"only_role": "spec-refiner"}, good("one")], "two": [two]}).inner
    yard.work(one)
    assert yard.item("two")["phase"] == "done" and yard.item("one")["phase"] in ("done", "blocked")
    assert yard.query("SELECT * FROM active_scopes") == []
