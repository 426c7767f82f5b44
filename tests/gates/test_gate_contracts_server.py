"""Gate contracts asks the project's own server, started from the candidate, what its description promises."""

import json
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import GateResult
from damascus.evidence.runner import CleanRunner
from damascus.gates.contracts import Contracts
from damascus.system.ports import PortBlocks
from tests.gates import shop_server
from tests.gates.judging import PYTHON, Content, Judging, leftovers
from tests.gates.shop_api import API, said, written

pytestmark = pytest.mark.req("A5")
SERVER = Path(shop_server.__file__).read_text()
NEW = written(lambda api: api["info"].update(version="2"))


def served(folder: Path, files: dict[str, Content], fault: str = "", base: str = SERVER, **keys: Any) -> GateResult:
    judging = Judging.of(folder, {API: written(), "app.py": base})
    judging.runner = CleanRunner(judging.mirror, folder / "c", ports=PortBlocks(folder / "ports"))
    command = keys.pop("serve", f"{PYTHON} app.py {fault}")
    settings = {"openapi": [API], "code": ["*.py"], "serve": command, "examples": 3, **keys}
    config = "[contracts]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    result = Contracts(judging.runner).check(judging.candidate(files, config=config))
    assert leftovers(folder) == []
    return result


def test_a_server_that_does_what_its_description_says_passes(tmp_path: Path) -> None:
    result = served(tmp_path, {API: NEW})
    assert result.findings == [], result.findings
    asked = result.evidence[-1]
    assert asked.summary == f"{API}: 3 operations asked by schemathesis, 0 failures"
    assert asked.command == f"{PYTHON} app.py " and asked.seconds > 0


def test_the_descriptions_own_base_path_is_asked_and_no_other_host(tmp_path: Path) -> None:
    there = written(lambda api: api.update(servers=[{"url": "https://shop.invalid/v1"}]))
    below = SERVER.replace('self.path.partition("?")[0] == "/items"', 'self.path.partition("?")[0] == "/v1/items"')
    result = served(tmp_path, {API: there, "app.py": below})
    assert result.findings == [], result.findings


def broken(fault: str) -> str:
    return SERVER.replace('FAULT = sys.argv[1] if len(sys.argv) > 1 else ""', f"FAULT = {fault!r}")


@pytest.mark.parametrize(("fault", "why"), [("type", "GET /items/{id}: Response violates schema"),
                                            ("crash", "GET /items/{id}: Server error"),
                                            ("status", "POST /items: Undocumented status code")])  # fmt: skip
def test_code_that_breaks_the_api_is_refused(tmp_path: Path, fault: str, why: str) -> None:
    result = served(tmp_path, {"app.py": broken(fault)})
    assert f"the server does not do what {API} says" in said(result) and why in said(result)
    assert "api/openapi.json" in result.findings[0].paths


def test_what_main_does_as_wrongly_is_charged_to_nobody(tmp_path: Path) -> None:
    result = served(tmp_path, {API: NEW}, fault="type")
    assert result.findings == []
    assert f"contracts: {API}: GET /items/{{id}}: Response violates schema: so on main, too" in result.unverified


@pytest.mark.parametrize(("fault", "keys", "why"), [
    ("exits", {}, "it did not listen on DAMASCUS_PORT"),
    ("", {"serve": "sleep 600", "seconds": 2.0}, "it took over 2 s"),
])  # fmt: skip
def test_a_server_that_can_not_be_asked_has_not_passed(
    tmp_path: Path, fault: str, keys: dict[str, Any], why: str
) -> None:
    result = served(tmp_path, {API: NEW}, fault=fault, **keys)
    assert "could not be asked" in said(result) and why in said(result)


def test_without_a_server_that_is_listed(tmp_path: Path) -> None:
    result = served(tmp_path, {API: NEW}, serve="")
    assert result.findings == []
    assert result.unverified == ["contracts: whether the server does what its description says: no [contracts] serve"]
