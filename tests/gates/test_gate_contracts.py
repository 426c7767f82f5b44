"""Gate contracts: descriptions are valid and break nobody, and what can't be checked has not passed."""

import importlib.util
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.refined import changed_by_refiner
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Verdict
from damascus.gates.contracts import Contracts, needs, oasdiff
from tests.gates.judging import CODE, Judging
from tests.gates.shop_api import API, CONFIG, judged, said, shop, written
from tests.gates.test_contracts_documents import BOMB

pytestmark = pytest.mark.req("A5")
NO_POST: Any = lambda api: api["paths"]["/items"].pop("post")  # noqa: E731


@pytest.fixture(autouse=True)
def our_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oasdiff, "installed", lambda: None)


def test_a_story_that_touches_no_contract_is_not_looked_at(tmp_path: Path) -> None:
    result = judged(tmp_path, {API: "{ not read"}, CODE)
    assert (result.findings, result.evidence, result.unverified) == ([], [], [])


def test_a_valid_description_passes_and_says_who_compared(tmp_path: Path) -> None:
    more = written(lambda api: api["paths"].update({"/more": {"get": {"responses": {"200": {"description": ""}}}}}))
    result = judged(tmp_path, {API: written()}, {API: more})
    assert result.findings == []
    [seen] = result.evidence
    assert result.unverified == ["contracts: whether the server does what its description says: no [contracts] serve"]
    assert seen.summary.startswith(f"{API}: a valid OpenAPI description, 4 operations; 0 breaking changes")
    assert "Damascus' own rules (oasdiff is not installed)" in seen.summary


def test_an_invalid_description_is_refused_with_its_place(tmp_path: Path) -> None:
    wrong = written(lambda api: api["paths"]["/items"]["get"].pop("responses"))
    result = judged(tmp_path, {API: written()}, {API: wrong.replace('"3.1.0"', '"3.0.3"')})
    assert [finding.verdict for finding in result.findings] == [Verdict.CONTRACT_BROKEN]
    assert "is no valid OpenAPI description: paths → /items → get" in said(result)
    assert result.findings[0].paths == [API]


@pytest.mark.parametrize(
    "text", ["[]", "{}", '"x"', "null", '{"openapi": "9.9"}', '{"openapi": {}}', '{"openapi": "3.1.0"}']
)
def test_what_is_no_description_is_refused(tmp_path: Path, text: str) -> None:
    assert said(judged(tmp_path, {}, {API: text})).startswith(f"{API} is no valid OpenAPI description: ")


def test_a_breaking_change_is_refused_by_name(tmp_path: Path) -> None:
    result = judged(tmp_path, {API: written()}, {API: written(NO_POST)})
    assert "breaks who relies on it: POST /items: the operation was removed. " in said(result)
    assert "may_break" in said(result)


@pytest.mark.parametrize("entry", [API, "api/", "api/*.json", "POST /items", "/items", "* /items"])
def test_a_spec_may_permit_it(tmp_path: Path, entry: str) -> None:
    result = judged(tmp_path, {API: written()}, {API: written(NO_POST)}, may_break=(entry,))
    assert result.findings == []
    assert result.notes == [f"contracts: {API}: permitted by may_break: POST /items: the operation was removed"]


@pytest.mark.parametrize("asked", [{"may_break": ("GET /items",)}, {"may_change": (API, "POST /items")}])
def test_another_permission_is_none(tmp_path: Path, asked: dict[str, Any]) -> None:
    assert "the operation was removed" in said(judged(tmp_path, {API: written()}, {API: written(NO_POST)}, **asked))


@pytest.mark.parametrize("stable", ["api/openapi.json", "POST /items", "/items"])
def test_what_is_marked_as_stable_nobody_may_break(tmp_path: Path, stable: str) -> None:
    config = CONFIG + f"stable = [{json.dumps(stable)}]\n"
    asked = {"config": config, "may_break": (API, "POST /items"), "may_change": (API,)}
    result = judged(tmp_path, {API: written()}, {API: written(NO_POST)}, **asked)
    assert "breaks a contract that is marked as stable: POST /items" in said(result)
    assert "no spec permits that" in said(result)


def test_a_deleted_description_takes_all_of_its_operations(tmp_path: Path) -> None:
    result = judged(tmp_path, {API: written()}, {API: None})
    assert "GET /items: removed with its description; POST /items: removed" in said(result)


def test_a_file_that_a_description_refers_to_is_part_of_it(tmp_path: Path) -> None:
    apart = shop()
    item = apart["components"]["schemas"]["Item"]
    item["properties"]["parts"]["items"]["$ref"] = "#/Item"
    apart["components"]["schemas"]["Item"] = {"$ref": "../models/item.yaml#/Item"}
    base = {API: json.dumps(apart), "models/item.yaml": json.dumps({"Item": item})}
    narrow = {"Item": item | {"properties": {"id": {"type": "integer"}}, "required": ["id"]}}
    result = judged(tmp_path, base, {"models/item.yaml": json.dumps(narrow)})
    assert "GET /items/{id}: response 200: property 'name' was removed" in said(result)


HOSTILE = {
    "a bomb": (BOMB, "values, its aliases written out"),
    "an address": ("openapi: 3.1.0\nx-a: {$ref: 'http://127.0.0.1:%d/a.yaml'}\n", "an address is never asked"),
    "an address as the base": (
        "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {}\ncomponents: {schemas: {A: {"
        "$id: 'http://127.0.0.1:%d/x/', properties: {a: {$ref: 'other.json'}}}}}\n",
        "there is no file|never asked|can't be validated",
    ),
    "a dynamic address": (
        "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {}\ncomponents: {schemas: {A: {"
        "$dynamicRef: 'http://127.0.0.1:%d/a.json', default: 1}}}\n",
        "never asked|can't be validated|not valid",
    ),
    "a file outside": ("openapi: 3.1.0\nx-a: {$ref: '../../../etc/passwd'}\n", "leads out of the repository"),
    "a loop": (
        "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {/a: {$ref: '#/paths/~1a'}}\n", "no valid OpenAPI",
    ),
    "an expression without end": (
        "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {}\ncomponents: {schemas: {A: {type: string, "
        f"pattern: '^(a|a)*$', default: {'a' * 40}!}}}}}}\n", "takes more processor time or memory",
    ),
    "bytes": ("\udcff\udcfe", "is not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_and_nobody_is_called(tmp_path: Path, name: str) -> None:
    text, why = HOSTILE[name]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        content = (text % port if "%d" in text else text).encode(errors="surrogateescape")
        result = judged(tmp_path, {}, {"api/openapi.yaml": content})
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert result.findings, name
    assert any(word in said(result) for word in why.split("|")), said(result)


def test_a_base_that_can_not_be_read_is_listed_and_hides_nothing(tmp_path: Path) -> None:
    result = judged(tmp_path, {API: "{"}, {API: written()})
    assert result.findings == []
    assert result.unverified[0].startswith(f"contracts: {API}: not compared with main's, which is not valid JSON")


def test_a_description_that_no_setting_names_is_listed(tmp_path: Path) -> None:
    result = judged(tmp_path, {}, {"docs/openapi.yaml": "x"}, config="")
    assert result.unverified == ["contracts: docs/openapi.yaml: not named by [contracts]"]


def test_the_rules_are_the_bases_whatever_the_story_writes(tmp_path: Path) -> None:
    files = {API: written(NO_POST), "damascus.toml": "[contracts]\nopenapi = []\n", ".openapi-diff-ignore": "*"}
    assert "the operation was removed" in said(judged(tmp_path, {API: written(), "damascus.toml": CONFIG}, files))


def test_without_the_packages_it_can_not_run_and_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({API: written()}, config=CONFIG)
    found = importlib.util.find_spec
    monkeypatch.setattr(needs, "find_spec", lambda name: None if name == "openapi_spec_validator" else found(name))
    with pytest.raises(DamascusError, match=r"openapi_spec_validator is not installed\. Install it: .*contracts"):
        Contracts(judging.runner).check(candidate)


SPEC = "---\nstory: S-1\ntitle: a story\n{}---\n"


def test_only_a_person_sets_what_may_be_broken() -> None:
    rough = SPEC.format("").encode()
    refined = SPEC.format("may_break: ['POST /items']\n").encode()
    assert parse_spec(refined, rough=True).may_break == ("POST /items",)
    assert any("may_break: POST /items was set, which only a person does" in told
               for told in changed_by_refiner(rough, refined))  # fmt: skip
    with pytest.raises(UsageError, match="may_break must be a list of texts"):
        parse_spec(SPEC.format("may_break: {a: 1}\n").encode(), rough=True)
