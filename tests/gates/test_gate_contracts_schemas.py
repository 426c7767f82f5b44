"""Gate contracts on data models: JSON Schemas are valid, and their samples conform, main's own as well."""

import json
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.verdict import Verdict
from tests.gates.shop_api import judged, said

pytestmark = pytest.mark.req("A5")
CONFIG = """[contracts]
schemas = ["schemas/*.json"]
samples = ["samples/{name}/*.json"]
bad_samples = ["samples/{name}/bad/*.json"]
"""
USER = "schemas/user.schema.json"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
BASE = {
    USER: json.dumps(SCHEMA),
    "samples/user/ann.json": '{"name": "Ann"}',
    "samples/user/bad/none.json": "{}",
}


def look(folder: Path, files: dict[str, Any], base: dict[str, str] | None = None, **asked: Any) -> Any:
    return judged(folder, BASE if base is None else base, files, **{"config": CONFIG, **asked})


def changed(**keys: Any) -> dict[str, str]:
    return {USER: json.dumps(SCHEMA | keys)}


def test_a_schema_with_its_samples_passes(tmp_path: Path) -> None:
    result = look(tmp_path, changed(title="a user"))
    assert (result.findings, result.unverified) == ([], [])
    assert [seen.summary for seen in result.evidence] == [
        f"{USER}: a valid JSON Schema; 1 samples, 1 that must not conform"
    ]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "is not valid": (changed(type="objekt"), "is no valid JSON Schema: at /type"),
    "is no schema": ({USER: "[]"}, "is no JSON Schema"),
    "names an unknown draft": (changed(**{"$schema": "x:y"}), "the $schema 'x:y', which is not known"),
    "leads nowhere": (changed(allOf=[{"$ref": "none.json"}]), "'none.json', which leads to nothing in the repository"),
    "leads to an address": (changed(allOf=[{"$ref": "http://127.0.0.1:9/a"}]), "no address is asked"),
    "leads to an address by its id": (
        changed(**{"$id": "http://127.0.0.1:9/a/", "allOf": [{"$ref": "b.json"}]}), "no address is asked",
    ),
    "leads out": (changed(allOf=[{"$ref": "../../x.json"}]), "leads out of the repository"),
    "takes anything": ({USER: "{}"}, "takes what it must not: samples/user/bad/none.json"),
    "has a sample that does not conform": (
        {"samples/user/bob.json": '{"name": 3}'}, f"do not conform to {USER}: samples/user/bob.json: at /name",
    ),
    "has a sample that can't be read": ({"samples/user/bob.json": "{"}, "samples/user/bob.json: is not valid JSON"),
    "loses main's sample": (
        changed(required=["name", "age"]) | {"samples/user/ann.json": '{"name": "Ann", "age": 3}'},
        "main's sample samples/user/ann.json no longer conforms ('age' is a required property)",
    ),
    "takes less than main's": (changed(properties={"name": {"type": "string", "maxLength": 9}}),
        "`maxLength` is 9 now"),
    "is gone": ({USER: None}, "breaks who relies on it: it was deleted"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_schema_is_refused_that(tmp_path: Path, name: str) -> None:
    files, why = REFUSED[name]
    result = look(tmp_path, files)
    assert {finding.verdict for finding in result.findings} == {Verdict.CONTRACT_BROKEN}
    assert why in said(result)


def test_a_spec_may_permit_another_shape_by_the_schemas_name(tmp_path: Path) -> None:
    grown = changed(required=["name", "age"]) | {"samples/user/ann.json": '{"name": "Ann", "age": 3}'}
    assert look(tmp_path, grown, may_break=("user",)).findings == []


def test_a_schema_without_samples_is_valid_and_the_rest_listed(tmp_path: Path) -> None:
    result = look(tmp_path, {"schemas/more.json": '{"type": "string"}'})
    assert result.findings == [] and "contracts: schemas/more.json: no sample of 'more'" in result.unverified[0]


def test_schemas_know_each_other_by_file_and_by_id(tmp_path: Path) -> None:
    files = {
        "schemas/a.json": '{"$id": "https://example.invalid/a", "$ref": "b"}',
        "schemas/b.json": '{"$id": "https://example.invalid/b", "properties": {"c": {"$ref": "#/$defs/C"}}, '
        '"$defs": {"C": {"type": "string"}}}',
        "schemas/d.json": '{"items": {"$ref": "user.schema.json"}}',
        "samples/a/1.json": '{"c": 1}',
        "samples/d/1.json": '[{"name": 1}]',
    }
    told = said(look(tmp_path, files))
    assert "samples/a/1.json: at /c: 1 is not of type 'string'" in told
    assert "samples/d/1.json: at /0/name: 1 is not of type 'string'" in told
