"""Feedback: one typed schema, and output made fit for a row."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from damascus.domain.feedback import Conflict, VerdictFeedback
from damascus.domain.storable import OUTPUT_LIMIT, clean

anything = st.text(st.characters(codec=None, categories=None), max_size=200)


@pytest.mark.req("T6")
@given(st.binary(max_size=200) | anything, st.integers(0, 60))
@example(b"\xff\xfe\0ok", 60)
@example("\ud800\0", 60)
@example("long enough to be cut", 0)
@example("long enough to be cut", 1)
def test_whatever_was_printed_becomes_text_that_a_row_takes(output: str | bytes, limit: int) -> None:
    text = clean(output, limit)
    text.encode("utf-8")
    assert "\0" not in text
    assert len(text) <= limit + 60


@pytest.mark.req("T6")
def test_long_output_keeps_its_head_and_its_tail() -> None:
    text = clean("HEAD" + "x" * 100_000 + "TAIL")
    assert text.startswith("HEADx") and text.endswith("xTAIL")
    assert "68008 characters left out" in text
    assert len(text) < OUTPUT_LIMIT + 100
    assert clean("x" * OUTPUT_LIMIT) == "x" * OUTPUT_LIMIT


@pytest.mark.req("T6")
def test_feedback_is_one_schema_for_database_and_agents() -> None:
    conflict = Conflict(conflicting_files=["a.py"], their_sha="0" * 40, details="<<<")
    feedback = VerdictFeedback(transient=True, message="m", test_output="o", files_changed=["a"], conflict=conflict)
    stored = json.loads(json.dumps(feedback.model_dump(mode="json")))
    assert VerdictFeedback.model_validate(stored) == feedback
    with pytest.raises(ValidationError):
        VerdictFeedback.model_validate({"message": "m", "invented": 1})


@pytest.mark.req("T1")
def test_nothing_is_transient_unless_said() -> None:
    assert VerdictFeedback(message="502 Bad Gateway").transient is None
