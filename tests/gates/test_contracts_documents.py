"""Contracts are read strictly, in one way only, and never lead to a file outside or to an address."""

import pytest

from damascus.contracts.documents import MOST_VALUES, Unreadable, read_document
from damascus.contracts.references import bundled, files_named, found_at, target

pytestmark = pytest.mark.req("A5")

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


def test_yaml_is_that_of_openapi() -> None:
    text = b"no: no\nday: 2026-01-01\n200: {on: true, n: 0x1f, i: 12, f: 1.5, e: , s: '1'}\n"
    assert read_document("a.yaml", text) == {
        "no": "no",
        "day": "2026-01-01",
        "200": {"on": True, "n": "0x1f", "i": 12, "f": 1.5, "e": None, "s": "1"},
    }


def test_aliases_and_merges_are_written_out() -> None:
    text = b"base: &b {a: 1, b: 2}\nmore: {<<: *b, b: 3}\nlist: [*b]\n"
    found = read_document("a.yml", text)
    assert found["more"] == {"a": 1, "b": 3} and found["list"] == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.yaml", BOMB, f"more than {MOST_VALUES:,} values"),
        ("a.yaml", "a: &a [*a]\n", "refers to itself|not valid YAML"),
        ("a.yaml", "a: 1\na: 2\n", "the key 'a' twice, line 2"),
        ("a.yaml", "a: !!python/object/apply:os.system [ls]\n", "uses the tag"),
        ("a.yaml", "a: !!binary aGk=\n", "uses the tag"),
        ("a.yaml", "? [a]\n: 1\n", "a key that is no text"),
        ("a.yaml", "a: [1\n", "not valid YAML, line"),
        ("a.yaml", "a: 1\n---\nb: 2\n", "not valid YAML"),
        ("a.yaml", "[" * 500 + "]" * 500, "nested deeper|not valid YAML"),
        ("a.json", "[" * 200_000, "nested too deeply|not valid JSON"),
        ("a.json", '{"a": 1, "a": 2}', "the key 'a' twice"),
        ("a.json", '{"a": NaN}', "holds NaN"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", "[" + "1" * 9_000 + "]", "not valid JSON"),
        ("a.yaml", "x" * 5_000_000, "is larger than"),
    ],
)
def test_is_refused(name: str, text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_document(name, text.encode())


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("http://127.0.0.1:9/a.yaml", "an address is never asked"),
        ("https://example.invalid/a#/b", "an address is never asked"),
        ("//example.invalid/a", "an address is never asked"),
        ("file:///etc/passwd", "an address is never asked"),
        ("c:/windows", "an address is never asked"),
        ("/etc/passwd", "leads out of the repository"),
        ("../../../etc/passwd", "leads out of the repository"),
        ("%2e%2e/%2e%2e/%2e%2e/etc/passwd", "leads out of the repository"),
        ("..\\..\\a", "leads out of the repository"),
        ("http://[", "which is none"),
    ],
)
def test_a_reference_that_leads_away_is_refused(ref: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        files_named({"a": [{"$ref": ref}]}, "api/openapi.yaml")


def test_a_reference_to_a_file_or_a_place_is_followed() -> None:
    assert target("../models/a%20b.yaml#/B", "api/openapi.yaml") == ("models/a b.yaml", "/B")
    assert target("#/components/x", "api/openapi.yaml") == ("api/openapi.yaml", "/components/x")


def test_several_files_become_one() -> None:
    files = {
        "api/root.yaml": {"x": {"$ref": "parts/a.yaml#/A"}, "own": {"$ref": "#/x"}, "name": {"$ref": 3}},
        "api/parts/a.yaml": {"A": {"b": {"$ref": "#/B"}, "up": {"$ref": "../root.yaml#/own"}}, "B": {"type": "string"}},
    }
    whole = bundled(files, "api/root.yaml")
    inside = found_at(whole, whole["x"]["$ref"])
    assert found_at(whole, inside["b"]["$ref"]) == {"type": "string"}
    assert inside["up"]["$ref"] == "#/own" and whole["own"]["$ref"] == "#/x"
    with pytest.raises(Unreadable, match="there is no file"):
        bundled({"a.yaml": {"$ref": "b.yaml"}}, "a.yaml")
