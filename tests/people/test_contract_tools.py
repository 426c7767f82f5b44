"""`doctor` says what of `[contracts]` is named and whether its tools are there."""

import pytest

from damascus.domain.config import parse_config
from damascus.people import contract_tools
from damascus.people.contract_tools import examine

pytestmark = pytest.mark.req("A5")
CONFIG = '[contracts]\nopenapi = ["api/*.yaml"]\nschemas = ["a.json"]\nstable = ["/v1/"]\n'


def told(text: str) -> list[tuple[str, str]]:
    return [(check.state, check.says) for check in examine(parse_config(text).contracts)]


def test_nothing_is_said_where_nothing_is_named() -> None:
    assert told("") == []


def test_what_is_named_and_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract_tools, "installed", lambda: None)
    assert told(CONFIG) == [
        (
            "ok",
            "openapi (1), schemas (1); breaking changes by our own rules, oasdiff is not installed; no serve, so no "
            "server is asked, and every receipt says so; no samples are named; stable: /v1/",
        )
    ]
    monkeypatch.setattr(contract_tools, "installed", lambda: "/opt/oasdiff")
    assert "breaking changes by /opt/oasdiff; asked: run it" in told(CONFIG + "serve = 'run it'\n")[0][1]


def test_what_is_missing_fails_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract_tools, "missing", lambda keys: ["jsonschema"] if "schemas" in keys else [])
    [(state, says)] = told(CONFIG)
    assert state == "fail" and "jsonschema is not installed" in says and "-m pip install" in says
    monkeypatch.setattr(contract_tools.shutil, "which", lambda name: None)
    assert told("[contracts]\nzod = ['a.mjs']\n")[0][0] == "fail"
