"""Where oasdiff is installed, it says what breaks a client, and the evidence says so."""

from pathlib import Path

import pytest

from damascus.gates.contracts import oasdiff
from tests.gates.shop_api import API, judged, said, written
from tests.gates.test_gate_contracts import NO_POST

pytestmark = pytest.mark.req("A5")
INSTALL = "make oasdiff, then PATH=.components/bin:$PATH"


@pytest.fixture(autouse=True)
def real_oasdiff() -> None:
    if oasdiff.installed() is None:
        pytest.skip(f"oasdiff is missing: {INSTALL}")


def test_it_looks_instead_of_our_rules(tmp_path: Path) -> None:
    result = judged(tmp_path, {API: written()}, {API: written(NO_POST)})
    assert "breaks who relies on it: POST /items: api removed without deprecation" in said(result)


def test_its_warnings_are_notes_and_a_spec_permits_by_the_same_names(tmp_path: Path) -> None:
    def less(api: dict[str, dict[str, dict[str, dict[str, list[object]]]]]) -> None:
        NO_POST(api)
        api["paths"]["/items"]["get"]["parameters"].pop()

    result = judged(tmp_path, {API: written()}, {API: written(less)}, may_break=("POST /items",))
    assert result.findings == []
    assert any(
        "oasdiff warns: GET /items: deleted the `query` request parameter `sort`" in note for note in result.notes
    )
    assert "1 breaking changes, compared by oasdiff" in result.evidence[0].summary


def test_a_program_that_can_not_read_them_is_said_and_our_rules_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oasdiff, "installed", lambda: "/bin/false")
    result = judged(tmp_path, {API: written()}, {API: written(NO_POST)})
    assert "POST /items: the operation was removed" in said(result)
    assert any("own rules (oasdiff could not read them)" in seen.summary for seen in result.evidence)
