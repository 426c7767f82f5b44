"""A story's page: why on top, then the evidence, what happened, what it changes, tries, transcript, cost, rescue."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.people import story_page
from damascus.people.diffs import _lines, _parts
from damascus.store.db import jsonb
from damascus.telling.transcripts import digest
from tests.cli import states
from tests.engine.shell_stories import FILES, Watched, bad, config, good, shell_story
from tests.web.reading import Browser
from tests.yard import HONEST, Yard, story

pytestmark = pytest.mark.req("X12")
EVIL = "<script>alert(1)</script>\x1b[31m red \u202eback"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    measured = config('[workspace]\nenv = ["SHOP_KEY"]\n').replace("coverage.changed = 0", "coverage.changed = 50")
    made = Yard(tmp_path, database_url, files=FILES, config=measured)
    made.app.environ["SHOP_KEY"] = "hunter2-hunter2"
    yield made
    made.db.close()


def order(html: str, *marks: str) -> bool:
    places = [html.index(mark) for mark in marks]
    return places == sorted(places)


def test_everything_of_a_story_that_landed_at_its_second_try(yard: Yard) -> None:
    yard.add(shell_story("one", title="greets"))
    yard.work(Watched(yard, {"one": [bad("one"), {**good("one"), "say": f"{EVIL} hunter2-hunter2"}]}))
    assert yard.item("one")["phase"] == "done", yard.questions()
    browser = Browser(yard)
    page = browser.page("/stories/one")
    told, head = page.text, yard.main()[:7]
    assert f"one is done: on main as {head}" in told
    assert order(page.html, 'class="why"', 'id="evidence"', 'id="timeline"', 'id="diff"', 'id="gates"', 'id="tries"',
                 'id="transcript"', 'id="artifacts"', 'id="cost"', 'id="rescue"')  # fmt: skip
    assert page.column("requirement") == ["REQ-001 it works"]
    assert page.column("red at base") == ["– not seen"], "a shell script reports no test by name"
    assert "tests_failed" in told and "run 1" in told and "run 2" in told
    assert "story.landed" in page.column("what") and "build: verify" in told
    assert "one.sh" in told and "+echo hello one" in page.html.replace("</i>", "")
    assert set(page.column("gate")) >= {"scope", "tests", "red"}
    assert f"damascus receipt verify {head}" in told and "damascus rescue restore one 1" in told
    assert "<script>alert" not in page.html and "\x1b" not in page.html and "\u202e" not in page.html
    assert "hunter2" not in page.html and "•••" in told
    [name] = [href for href in page.links.values() if "build_receipt.json" in href][:1]
    assert "run_id" in browser.page(name).text
    logs = [href for href in page.links.values() if "/logs/" in href]
    assert logs and browser.page(logs[0]).status == 200


def test_a_requirement_is_told_with_its_tests_red_and_green_and_its_code(yard: Yard) -> None:
    yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
    yard.work(yard.agent(HONEST))
    page = Browser(yard).page("/stories/S-1")
    assert page.column("test") == ["test_REQ_001_value"]
    assert page.column("red at base")[0].startswith("✓") and page.column("green at head") == ["✓"]
    assert page.column("code")[0].startswith("m1.py:") and "Look first at: m1.py:" in page.text


def test_a_story_that_nobody_began_says_so_everywhere(yard: Yard) -> None:
    yard.add(story("S-1"))
    told = Browser(yard).page("/stories/s-1").text
    for sentence in (
        "No commit of it has passed the gates yet",
        "no change to show yet",
        "No gate has been asked yet.",
        "It has not been tried yet.",
        "No log of it is on this host",
        "Its steps have left no file yet.",
        "no tokens recorded",
        "No snapshot of it is here",
    ):
        assert sentence in told


@pytest.mark.parametrize(
    "path", ["nobody", "S-1/artifacts/../../secret", "S-1/artifacts/build/none.md", "nobody/logs/x"]
)
def test_what_is_not_there_is_told_in_one_sentence(yard: Yard, path: str) -> None:
    yard.add(story("S-1"))
    page = Browser(yard).page(f"/stories/{path}")
    assert page.status == 404 and "Traceback" not in page.text


@pytest.mark.parametrize(
    "name", ["../../../repo/damascus.toml", "run-1/../../../x", "%2e%2e/%2e%2e/home", "/etc/passwd"]
)
def test_no_log_outside_the_runs_is_opened(yard: Yard, name: str) -> None:
    yard.add(story("S-1"))
    page = Browser(yard).page(f"/stories/S-1/logs/{name}")
    assert page.status in (404, 409) and "[limits]" not in page.text and "root:" not in page.text


def test_buttons_are_there_for_who_may_act_and_each_shows_its_command(yard: Yard) -> None:
    yard.add(story("S-1"))
    states.asks(yard, states.claim(yard)[0], "Which one holds?", "retry", "cancel the story")
    page = Browser(yard).page("/stories/S-1")
    verbs = [str(attrs["action"]) for tag, attrs in page.tags if tag == "form" and "action" in attrs]
    assert "/act/cancel" in verbs and "damascus cancel S-1" in page.text
    looking = Browser(yard, read_only=True).page("/stories/S-1")
    assert not [tag for tag, attrs in looking.tags if tag == "form" and "/act/" in str(attrs.get("action"))]


def test_a_receipt_of_requirements_that_agents_worded_is_text(yard: Yard) -> None:
    yard.add(shell_story("one", requirements={"REQ-001": "a <b>bold</b> claim"}))
    yard.work(Watched(yard, {"one": [good("one")]}))
    page = Browser(yard).page("/stories/one")
    assert "a <b>bold</b> claim" in page.text and "<b>bold</b>" not in page.html


def test_a_transcript_tells_calls_with_what_they_came_to() -> None:
    found = digest(
        ["hello", "→ Bash pytest -q", "✗ 2 failed", "prose", "→ Read a.py", "← def a(): …", "= done after 3 turns"]
    )
    assert [(call.what, call.result, call.failed) for call in found.calls] == [
        ("Bash pytest -q", "2 failed", True),
        ("Read a.py", "def a(): …", False),
    ]
    assert (found.ended, found.failures) == ("done after 3 turns", 1)
    assert digest(["only", "\x1b[1mprose\x1b[0m", ""]).ended == "prose"


def test_a_patch_is_read_line_by_line_with_the_numbers_of_the_new_file() -> None:
    patch = (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one\n-two\n+deux\n+trois\n"
        "\\ No newline at end of file\ndiff --git a/b b/b\nnew file mode 100644\n"
    )
    first, second = list(_parts(patch))
    assert [(line.kind, line.number, line.text) for line in _lines(first)][1:4] == [
        ("same", 1, "one"),
        ("removed", 0, "two"),
        ("added", 2, "deux"),
    ]
    assert [line.kind for line in _lines(second)] == ["note"]


def test_what_judges_comes_first_in_a_diff_and_new_tests_last(yard: Yard) -> None:
    more = {"Makefile": "all:\n\techo\n"}
    yard.add(shell_story("one", scope=["one.sh", "tests/test_one.sh", "Makefile"]))
    yard.work(Watched(yard, {"one": [good("one", **more)]}))
    page = story_page.story_page(yard.app, yard.project, "one")
    assert page.diff is not None
    assert [file.path for file in page.diff.files] == ["Makefile", "one.sh", "tests/test_one.sh"]
    assert page.diff.files[0].why == "it says how code is built or judged"


def test_what_a_gate_found_is_text(yard: Yard) -> None:
    yard.add(story("S-1"))
    item = yard.item("S-1")["id"]
    yard.query(
        "INSERT INTO journal (item_id, run_no, phase, step, status, fence, output, done_at) "
        "VALUES (%s, 1, 'build', 'verify', 'done', 1, %s, now()) RETURNING 1",
        item,
        jsonb({"results": [{"gate": EVIL, "findings": [{"message": EVIL}]}]}),
    )
    page = Browser(yard).page("/stories/S-1")
    assert page.status == 200 and "<script>alert" not in page.html
