"""A rough story: asked of the refiner if there is one, else of a person; accepted, it is frozen anew."""

from pathlib import Path

import pytest

from damascus.domain.spec import digest
from damascus.store import people
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

ROUGH = "---\nstory: one\ntitle: Say hello\n---\nSomebody should say hello.\n"
REFINER = config().replace("[agent]\n", "[agent]\nrefiner = true\n")


def refined(yard: Yard, text: str | None, **report: object) -> Watched:
    """An agent that leaves `text` as its artifact's spec.md, and does the story's work afterwards."""

    def before(brief: object, workspace: Path) -> None:
        if brief.role == "spec-refiner" and text is not None:  # type: ignore[attr-defined]
            (Path(brief.artifacts) / "spec.md").write_text(text)  # type: ignore[attr-defined]

    refine = {"only_role": "spec-refiner", "report": report}
    return Watched(yard, {"one": [refine, {"only_role": "code-implementer", **good("one")}]}, before)


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=REFINER)
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
def test_a_refined_spec_is_frozen_and_built(yard: Yard) -> None:
    text = shell_story("one")
    agent = refined(yard, text)
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["rough"], item["spec_hash"]) == ("done", False, digest(text.encode()))
    assert item["file_scope"] == ["one.sh", "tests/test_one.sh"] and bytes(item["spec"]) == text.encode()
    brief, prompt, _ = agent.given[0]
    assert (brief.role, brief.step) == ("spec-refiner", "refine") and "Somebody should say hello" in prompt
    assert agent.given[1][0].role == "code-implementer"
    assert yard.events("one", "phase.transitioned")[0]["body"] == {"from": "spec", "to": "build"}


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
    yard.work(refined(yard, shell_story("one")))
    assert yard.item("one")["phase"] == "done"
    answered = refined(yard, shell_story("one"))
    assert yard.item("one")["answers"] == ["In English"] and answered.given == []


@pytest.mark.req("D19")
def test_two_refined_stories_never_get_one_file(yard: Yard) -> None:
    """The scope comes with the refined spec: it is asked for like any other."""
    yard.add(shell_story("two", scope=["one.sh", "tests/test_two.sh"], command="sh tests/test_two.sh"))
    two = {
        "write": {"one.sh": "echo hello two\n", "tests/test_two.sh": '# REQ-001\ntest "$(sh one.sh)" = "hello two"\n'}
    }
    one = refined(yard, shell_story("one"))
    one.inner = Watched(yard, {"one": [{"only_role": "spec-refiner"}, good("one")], "two": [two]}).inner
    yard.work(one)
    assert yard.item("two")["phase"] == "done" and yard.item("one")["phase"] in ("done", "blocked")
    assert yard.query("SELECT * FROM active_scopes") == []
