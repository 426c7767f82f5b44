"""`damascus change`, STALE and `damascus approve`, at the terminal and with a worker: the whole life of a change."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, everything
from tests.engine.shell_stories import Watched, config
from tests.yard import PERSON, Yard, python, story

REFINER = config().replace("[agent]\n", "[agent]\nrefiner = true\n")
WHY = "it must say goodbye"
OLD_TEST = "tests/test_one.py::test_REQ_001_one"
UNASKED = ("change", "one", "--why", WHY, "--yes")


def says(name: str, what: str = "hello") -> dict[str, Any]:
    """A try that does what `story(name)` asks."""
    test = f"from {name} import say\n\n\ndef test_REQ_001_{name}():\n    assert say() == '{what}'\n"
    return {"write": {f"{name}.py": f"def say():\n    return '{what}'\n", f"tests/test_{name}.py": test}}


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    """one is done, two is done and needs it, three needs two and has not begun, four shares a file of one."""
    made = Yard(tmp_path, database_url, files={".gitignore": "__pycache__/\n"}, config=REFINER)
    for name, value in (made.environ | PERSON).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    made.add(story("one"), story("two", depends_on=["one"]))
    made.work(Watched(made, {"one": [says("one")], "two": [says("two")]}))
    assert [made.item(name)["phase"] for name in ("one", "two")] == ["done", "done"], made.questions()
    made.add(story("three", depends_on=["two"]), story("four", scope=["one.py", "tests/test_four.py"]))
    return made


def goodbye(yard: Yard) -> Watched:
    """Refines by filling what the frozen spec lacks, then changes code and test."""

    def before(brief: object, workspace: Path) -> None:
        if brief.role == "spec-refiner":  # type: ignore[attr-defined]
            frozen = bytes(yard.item("one")["spec"]).decode()
            filled = frozen.replace("title:", "scope: [one.py, tests/test_one.py]\ntitle:", 1)
            run = f"{python()} -m pytest -q -p no:cacheprovider tests/test_one.py"
            filled += f"\n## TDD Plan\nFirst the test.\n\n## Test Command\n```sh\n{run}\n```\n"
            (Path(brief.artifacts) / "spec.md").write_text(filled)  # type: ignore[attr-defined]

    script = [{"only_role": "spec-refiner", "report": {}}, {"only_role": "code-implementer", **says("one", "goodbye")}]
    return Watched(yard, {"one": script, "three": [says("three")], "four": [{"exit": 1}] * 5}, before)


@pytest.mark.req("A3.1")
def test_first_the_blast_radius_and_nothing_changes_without_a_yes(yard: Yard, command: Cli) -> None:
    before = everything(yard)
    told = command("change", "one", "--why", WHY)
    assert told.code == 2 and "add --yes. Nothing was changed." in told.error and everything(yard) == before
    for line in (
        "one is on main as",
        "depends on it: two (DONE), three (build, through another)",
        "files: one.py, tests/test_one.py",
        f"tests: {OLD_TEST}",
        "shares its files and waits, if it has not begun: four",
    ):
        assert line in told.out
    assert yard.item("one")["phase"] == "done"


@pytest.mark.req("A3.2", "A2.4")
def test_show_why_status_and_inbox_present_the_original_and_the_change_and_what_to_do(yard: Yard, command: Cli) -> None:
    commit = yard.item("one")["merged_commit"]
    assert command(*UNASKED).code == 0
    shown = command("show", "one").out
    assert f"original   {commit[:7]}" in shown and "damascus diff one, damascus receipt one" in shown
    assert f"change     {WHY}" in shown and OLD_TEST in shown
    assert command("diff", "one").out.startswith("diff --git") and command("receipt", "one").code == 0
    assert command("show", "one", "--json").json["change"]["why"] == WHY
    for verb in ("status", "inbox"):
        assert "damascus approve one" in command(verb).out, verb
    why = " ".join(command("why", "one").out.split())
    assert "STALE since" in why and WHY in why and "damascus approve one" in why and "damascus change --undo one" in why
    [listed] = command("inbox", "--json").json["issues"]
    assert [one["id"] for one in listed["choices"]] == ["reapprove", "undo_change"]


@pytest.mark.req("A3.3")
def test_approved_it_is_derived_anew_built_and_landed_with_the_old_tests_changed(yard: Yard, command: Cli) -> None:
    first = yard.item("one")["merged_commit"]
    command(*UNASKED)
    agent = goodbye(yard)
    yard.work(agent)
    assert [brief.story_id for brief, _, _ in agent.given] == ["three"], "never by itself, and four waits"
    told = " ".join(command("why", "four").out.split())
    assert "one holds until you have decided about it" in told and "decide about it first: damascus approve one" in told
    refused = command("approve", "one")
    assert refused.code == 2 and OLD_TEST in refused.out and yard.item("one")["phase"] == "stale"
    done = command("approve", "one", "--yes")
    assert done.code == 0 and "built anew from its spec" in done.out
    assert yard.item("one")["phase"] == "spec" and yard.questions() == []
    yard.work(agent)
    row = yard.item("one")
    assert (row["phase"], row["change"]) == ("done", None), yard.questions()
    assert row["merged_commit"] != first and "goodbye" in str(yard.on_main("one.py"))
    roles = [brief.role for brief, _, _ in agent.given if brief.story_id == "one"]
    assert roles == ["spec-refiner", "code-implementer"], "the approval was the refined spec's as well"
    told = command("receipt", "one", "--evidence").json
    assert not [text for text in told["unverified"] if "approved by nobody" in text]


@pytest.mark.req("A3.3")
def test_with_a_spec_it_is_built_by_that_one_without_a_refiner(yard: Yard, command: Cli) -> None:
    yard.write({"specs/one.md": story("one", title="Say goodbye")})
    assert command("change", "one", "--why", WHY, "--spec", "specs/one.md", "--yes").code == 0
    assert "+title: Say goodbye" in command("show", "one").out
    command("approve", "one", "--yes")
    yard.work(Watched(yard, {"one": [says("one", "goodbye")], "three": [says("three")], "four": [{"exit": 1}] * 5}))
    assert yard.item("one")["phase"] == "done" and yard.item("one")["title"] == "Say goodbye"


@pytest.mark.req("A3.3")
def test_without_a_refiner_its_own_scope_plan_and_command_count_and_the_agent_is_told_the_change(
    yard: Yard, command: Cli
) -> None:
    yard.commit({"damascus.toml": str(yard.on_main("damascus.toml")).replace("refiner = true", "refiner = false")}, "x")
    command(*UNASKED)
    done = command("approve", "one", "--yes")
    assert done.code == 0 and "derived anew" not in done.out
    agent = Watched(yard, {"one": [says("one", "goodbye")], "three": [says("three")], "four": [{"exit": 1}] * 5})
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and "goodbye" in str(yard.on_main("one.py")), yard.questions()
    [told] = [text for brief, text, _ in agent.given if brief.story_id == "one"]
    assert WHY in told


@pytest.mark.req("A3.3")
def test_with_one_more_criterion_only_that_one_needs_a_test_that_was_red(yard: Yard, command: Cli) -> None:
    """No test of the first can be red: main has its code."""
    first = yard.item("one")["merged_commit"]
    spec = story("one")
    old = next(line for line in spec.splitlines() if "REQ-001" in line)
    yard.write({"specs/one.md": spec.replace(old, f"{old}\n{old.replace('REQ-001', 'REQ-002')} twice")})
    assert command("change", "one", "--why", WHY, "--spec", "specs/one.md", "--yes").code == 0
    command("approve", "one", "--yes")
    code, test = says("one")["write"].values()
    more = "\n\ndef test_REQ_002_twice():\n    import one\n\n    assert one.twice() == 'hellohello'\n"
    made = {"one.py": code + "\n\ndef twice():\n    return 2 * say()\n", "tests/test_one.py": test + more}
    yard.work(Watched(yard, {"one": [{"write": made}], "three": [says("three")], "four": [{"exit": 1}] * 5}))
    assert yard.item("one")["phase"] == "done", yard.questions()
    told = " ".join(command("receipt", "one").out.split())
    assert f"proved when one first landed ({first[:7]}), its tests still green" in told
    checked = command("receipt", "verify", yard.item("one")["merged_commit"])
    assert checked.code == 0, checked.out + checked.error


@pytest.mark.req("A3.1")
def test_done_dependents_become_stale_too_where_it_is_said(yard: Yard, command: Cli) -> None:
    made = command(*UNASKED, "--with-dependents", "--json").json
    assert made["stories"] == ["one", "two"] and made["radius"]["done_dependents"] == ["two"]
    assert yard.item("two")["phase"] == "stale"
    assert yard.item("two")["change"]["why"] == f"one, which it depends on, has changed: {WHY}"
    told = " ".join(command("why", "three").out.split())
    assert "it depends on two" in told and "damascus approve two" in told


@pytest.mark.req("A3.4")
def test_taken_back_it_is_done_and_answers_in_own_words_are_refused(yard: Yard, command: Cli) -> None:
    command(*UNASKED)
    [issue] = command("inbox", "--json").json["issues"]
    refused = command("answer", str(issue["id"]), "just", "do", "it")
    assert refused.code == 2 and "damascus approve one" in refused.error and yard.item("one")["phase"] == "stale"
    assert command("retry", "one").code == 1
    done = command("change", "--undo", "one")
    assert done.code == 0 and yard.item("one")["phase"] == "done" and yard.questions() == []
    again = command("change", "--undo", "one")
    assert again.code == 1 and "one is not STALE" in again.error


@pytest.mark.parametrize("answer", ["1", "undo_change"])
def test_the_question_s_options_do_what_they_say(yard: Yard, command: Cli, answer: str) -> None:
    command(*UNASKED)
    [issue] = command("inbox", "--json").json["issues"]
    assert command("answer", str(issue["id"]), answer).code == 0
    assert yard.item("one")["phase"] == ("spec" if answer == "1" else "done") and yard.questions() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("change", "one"), "say what has changed"),
        (("change", "nobody", "--why", "x", "--yes"), "there is no story 'nobody'"),
        (("change", "three", "--why", "x", "--yes"), "three is not DONE (phase build)"),
        (("change", "one", "two", "--why", "x", "--spec", "a.md", "--yes"), "--spec is the new spec of one story"),
        (("change", "one", "--why", "x", "--spec", "a.md", "--yes"), "a.md does not exist"),
        (("change", "--undo", "one", "--why", "x"), "--undo takes a change back and needs nothing else"),
    ],
)
def test_a_slip_is_one_sentence_and_changes_nothing(
    yard: Yard, command: Cli, words: tuple[str, ...], said: str
) -> None:
    before = everything(yard)
    ran = command(*words)
    assert ran.code in (1, 2) and said in ran.error and everything(yard) == before
