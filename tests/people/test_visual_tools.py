"""`doctor` says which pages of `[visual]` are looked at, and what this host lacks for it."""

import pytest

from damascus.domain.config import parse_config
from damascus.gates.visual import needs
from damascus.people import visual_tools
from damascus.people.visual_tools import examine
from damascus.system.sandbox import Level

pytestmark = pytest.mark.req("A6.2")
CONFIG = '[visual]\npages = ["/", "/cart"]\n'


def told(text: str) -> list[tuple[str, str]]:
    return [(check.state, check.says) for check in examine(parse_config(text).visual)]


def test_nothing_is_said_where_no_page_is_named() -> None:
    assert told("") == []


def test_what_is_looked_at_and_with_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visual_tools, "lacking", lambda config: "")
    monkeypatch.setattr(visual_tools, "browser", lambda config: "/opt/chromium")
    assert told(CONFIG) == [("ok", "2 pages at 1280x800, served as they are, looked at with /opt/chromium")]
    assert "served by npm start" in told(f'{CONFIG}serve = "npm start"\n')[0][1]


def test_what_is_lacking_is_named_and_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = f'{CONFIG}browser = "no-such-chromium"\n'
    [(state, says)] = told(wanted)
    assert state == "warn" and "every receipt says that nobody looked: no-such-chromium is not here" in says
    [(state, says)] = told(f"{wanted}required = true\n")
    assert state == "fail" and "no story that touches them passes" in says
    there = parse_config('[visual]\nbrowser = "sh"\n').visual
    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    assert "Pillow is not installed. Install it: " in needs.lacking(there)
    monkeypatch.undo()
    monkeypatch.setattr(needs, "detect", lambda: Level.LANDLOCK)
    assert "under Landlock" in needs.lacking(there)
