"""A run that another version of its phase's script began: a new run, and what was done outside is found by key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.verdict import Phase
from damascus.engine.script_versions import SCRIPT_VERSIONS
from damascus.store import people
from tests.crash.field import Field
from tests.crash.worker_process import Act

EVERYWHERE = [
    (Phase.BUILD, "implement:after_done"),
    (Phase.BUILD, "push:after_intent"),
    (Phase.BUILD, "push:after_effect"),
    (Phase.BUILD, "push:after_done"),
    (Phase.BUILD, "propose:after_effect"),
    (Phase.BUILD, "propose:after_done"),
    (Phase.MERGE, "land:after_intent"),
    (Phase.MERGE, "land:after_effect"),
    (Phase.MERGE, "land:after_done"),
]


@pytest.fixture
def field(tmp_path: Path, database_url: str) -> Iterator[Field]:
    made = Field(tmp_path / "field", database_url)
    yield made
    made.close()


def landed_once(field: Field) -> None:
    item = field.yard.item("S-1")
    assert item["phase"] == "done", (field.yard.questions(), item["last_feedback"])
    assert (item["attempts"], item["last_verdict"]) == (0, "passed"), "nothing is charged"
    assert len(field.pulls()) == 1 and len(field.commits_on_main("S-1")) == 1
    assert len(field.yard.events("S-1", "story.landed")) == 1
    # check_invariants(field)


@pytest.mark.req("X11", "D20", "W16")
@pytest.mark.parametrize(("phase", "boundary"), EVERYWHERE, ids=[boundary for _, boundary in EVERYWHERE])
def test_another_version_starts_a_new_run_and_finds_what_was_done(
    field: Field, phase: Phase, boundary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    field.add("S-1")
    field.killed(Act(boundary))
    before = field.yard.item("S-1")["run_no"]

    monkeypatch.setitem(SCRIPT_VERSIONS, phase, SCRIPT_VERSIONS[phase] + 1)
    field.yard.work(field.agent)

    [restarted] = field.yard.events("S-1", "run.restarted")
    why = "another version of the script began it"
    assert restarted["body"] == {"run": before, "phase": phase, "why": why}
    landed_once(field)


@pytest.mark.req("X11")
def test_the_same_version_goes_on_in_the_same_run(field: Field) -> None:
    field.add("S-1")
    field.killed(Act("push:after_effect"))
    field.yard.work(field.agent)
    assert field.yard.events("S-1", "run.restarted") == []
    assert field.agent_lines("start") == 1
    landed_once(field)


@pytest.mark.req("X11")
def test_a_run_that_recorded_no_version_counts_as_the_first(field: Field) -> None:
    """Of a release that did not record any."""
    field.add("S-1")
    field.killed(Act("push:after_done"))
    field.yard.query("UPDATE journal SET input = input - 'script' RETURNING 1")
    field.yard.work(field.agent)
    assert len(field.yard.events("S-1", "run.restarted")) == 1
    landed_once(field)


@pytest.mark.req("X11")
def test_each_run_records_its_version_once(field: Field) -> None:
    field.add("S-1")
    field.yard.work(field.agent)
    rows = field.yard.query(
        "SELECT run_no, phase, array_agg(input -> 'script') FILTER (WHERE input ? 'script') AS recorded"
        " FROM journal GROUP BY 1, 2"
    )
    assert {(row["phase"], tuple(row["recorded"])) for row in rows} == {
        (phase, (SCRIPT_VERSIONS[Phase(phase)],)) for phase in ("build", "review", "merge")
    }


@pytest.mark.req("X11", "D20")
def test_a_landing_that_was_begun_stays_begun_in_the_new_run(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's cancel is refused before and after: main may have moved."""
    field.add("S-1")
    field.killed(Act("land:after_effect"))
    monkeypatch.setitem(SCRIPT_VERSIONS, Phase.MERGE, 9)
    refused: list[str] = []

    def cancels(step: str, point: str) -> None:
        if (step, point) == ("land", "after_intent"):
            with pytest.raises(DamascusError) as caught:
                people.cancel(field.yard.db, field.yard.row.id, "S-1")
            refused.append(str(caught.value))

    field.yard.work(field.agent, boundary=cancels)
    assert len(refused) == 1
    landed_once(field)
