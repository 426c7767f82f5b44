"""The published schema is the classes', and a receipt is what it says."""

import json
from typing import Any

import jsonschema
import pytest

from damascus.domain.receipt_making import make_receipt
from damascus.domain.receipt_schema import text
from tests.receipts.making import evidence
from tests.rules.tree import ROOT

FILE = ROOT / "docs/schemas/build_receipt.schema.json"
SOURCE_FIELDS = {
    "requirements": {"touched", "untouched", "fr_status"},
    "tests": {
        "status", "total", "passed", "failed", "xfailed", "xpassed", "skipped", "pytest_summary_source", "summary_file",
        "metrics_consistency",
    },
    "code": {"status", "summary_file"},
    "mutation": {"status", "score", "killed", "total"},
    "docs": {"updated"},
}  # fmt: skip


def schema() -> Any:
    return json.loads(FILE.read_text("utf-8"))


@pytest.mark.req("F8.1")
def test_the_published_schema_is_made_from_the_classes() -> None:
    assert FILE.read_text("utf-8") == text(), f"python -m damascus.domain.receipt_schema {FILE.relative_to(ROOT)}"
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.req("F8.1")
def test_a_receipt_has_every_field_of_the_flow_and_validates() -> None:
    told = json.loads(make_receipt(evidence()).as_bytes())
    jsonschema.validate(told, schema())
    assert {"run_id", "branch", "timestamp", "metrics_binding", "notes", "status", *SOURCE_FIELDS} <= told.keys()
    assert {part: set(told[part]) for part in SOURCE_FIELDS} == SOURCE_FIELDS


@pytest.mark.req("F8.1")
@pytest.mark.parametrize(
    ("part", "value"),
    [("status", "FINE"), ("tests", {}), ("requirements", {"fr_status": {"REQ-001": "DONE"}}), ("more", 1)],
)
def test_what_is_no_receipt_is_refused(part: str, value: object) -> None:
    told = {**json.loads(make_receipt(evidence()).as_bytes()), part: value}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, schema())
