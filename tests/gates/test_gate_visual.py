"""Gate visual takes pictures of a candidate's pages with a real Chromium and compares them with what was accepted."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from damascus.domain.errors import DamascusError
from damascus.domain.pictures import Picture
from damascus.domain.ports import GateResult
from damascus.evidence.runner import CleanRunner
from damascus.gates.visual import Visual, taking
from damascus.system.ports import PortBlocks
from tests.browser import RememberedPictures, need_browser
from tests.gates.judging import PYTHON, Content, Judging, leftovers, verdicts

pytestmark = pytest.mark.req("A6.2")
PAGE = """<!doctype html><meta charset=utf-8><title>shop</title><style>
body { margin: 0; font: 16px sans-serif }
.dot { position: absolute; left: 300px; top: 200px; width: 10px; height: 10px }
@keyframes turn { from { margin-left: 0 } to { margin-left: 400px } } .moves { animation: turn 1s infinite linear }
</style><h1 class=moves>Shop</h1><p class=now></p><input autofocus><div class=dot style="background: DOT"></div>
<script>document.querySelector(".now").textContent = new Date() + " " + Math.random() + " " + location
setInterval(() => document.body.dataset.ticks = Date.now(), 7)</script>
"""
INDEX = {"index.html": PAGE}
RED = {"index.html": PAGE.replace("DOT", "red")}


class Shop:
    """A static page on main, judged again and again; a person's word in between."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder, self.pictures = folder, RememberedPictures()
        self.judging = Judging.of(folder, files)
        self.judging.runner = CleanRunner(self.judging.mirror, folder / "c", ports=PortBlocks(folder / "ports"))

    def judged(self, files: dict[str, Content], pages: tuple[str, ...] = ("index.html",), **keys: Any) -> GateResult:
        settings = {"pages": list(pages), **keys}
        config = "[visual]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        result = Visual(self.judging.runner, self.pictures).check(self.judging.candidate(files, config=config))
        assert leftovers(self.folder) == []
        return result

    def picture(self, files: dict[str, Content], **keys: Any) -> Picture:
        result = self.judged(files, **keys)
        assert result.findings == [], result.findings
        [picture] = result.pictures
        return picture


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    need_browser()
    return Shop(tmp_path, INDEX)


def test_the_first_picture_is_a_question_and_the_accepted_one_is_known_again(shop: Shop) -> None:
    first = shop.picture(RED)
    assert first.state == "new" and first.asks and list(first.files) == ["candidate"]
    assert Image.open(first.files["candidate"]).size == (1280, 800)
    assert [one.mark for one in shop.pictures.shown] == [first.mark]
    shop.pictures.accept()
    phone = shop.picture(RED, viewport="390x700")
    assert phone.state == "new" and Image.open(phone.files["candidate"]).height == 700
    shop.pictures.shown = []
    again = shop.picture({**RED, "other.js": "1\n"})
    assert (again.state, again.sha256, again.differing) == ("same", first.sha256, 0), "time and motion stand still"
    assert shop.pictures.shown == [] and "ann accepted on 2026-01-02 in S-0" in again.told


def test_one_changed_spot_is_a_question_with_the_difference_as_a_picture(shop: Shop) -> None:
    shop.picture(RED)
    shop.pictures.accept()
    blue = {"index.html": PAGE.replace("DOT", "blue")}
    changed = shop.picture(blue)
    assert changed.state == "changed" and changed.differing == 100 and changed.pixels == 1280 * 800
    assert list(changed.files) == ["accepted", "candidate", "difference"]
    with Image.open(changed.files["difference"]) as drawn:
        assert drawn.getpixel((305, 205)) == (220, 0, 40) and drawn.getpixel((295, 205)) != (220, 0, 40)
    assert shop.picture(blue, masks=["300,200,10,10"]).state == "same"


def test_what_a_selector_masks_is_hidden_and_told(shop: Shop) -> None:
    shop.picture(RED, masks=[".dot", ".now"])
    shop.pictures.accept()
    result = shop.judged({"index.html": PAGE.replace("DOT", "lime")}, masks=[".dot", ".now"])
    assert [one.state for one in result.pictures] == ["same"]
    assert "selectors of masks hide" in result.evidence[-1].summary
    with pytest.raises(DamascusError, match=r"\[visual\] masks: '..no' is no CSS selector"):
        shop.judged(RED, masks=["..no"])


def test_what_can_not_be_taken_has_not_passed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "PAGE_SECONDS", 15.0)
    files: dict[str, Content] = {
        "blank.html": "<!doctype html><body style='background: white'>",
        "endless.html": "<h1>x</h1><script>while (true) {}</script>",
    }
    pages = ("nope.html", "blank.html", "endless.html")
    result = shop.judged(files, pages)
    assert verdicts(result) == ["page_not_accepted"] * 3 and result.pictures == []
    said = {finding.paths[0]: finding.message for finding in result.findings}
    assert "the server answers 404" in said["nope.html"]
    assert "it is blank" in said["blank.html"]
    assert "it did not load in 15 s" in said["endless.html"]


def test_huge_pages_are_cut_dialogs_closed_and_other_addresses_never_asked(shop: Shop) -> None:
    files: dict[str, Content] = {
        "huge.html": "<div style='height: 90000px; width: 9000px; background: linear-gradient(red, blue)'>",
        "asks.html": "<h1>asks</h1><script>alert('stop')</script><img src='http://192.0.2.1/x.png'>"
        "<script src='https://cdn.invalid/x.js'></script>",
    }
    result = shop.judged(files, ("huge.html", "asks.html"))
    assert result.findings == [] and [one.state for one in result.pictures] == ["new", "new"]
    assert Image.open(result.pictures[0].files["candidate"]).size == taking.MOST
    told = "\n".join(result.unverified)
    assert "visual: huge.html: it has 9" in told and "pixels, seen are 4096x8192" in told
    assert "visual: asks.html: http://192.0.2.1/x.png is not loaded, since there is no network" in told
    assert "https://cdn.invalid/x.js is not loaded" in told


SERVER = """
import http.server, os, sys
class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.partition("?")[0]
        status = {"/": 302, "/home": 200, "/broken": 500}.get(path, 404)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/home")
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<h1>{path} {self.headers.get('Host')}</h1>".encode())
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["DAMASCUS_PORT"])), Shop).serve_forever()
"""


def test_a_server_of_the_projects_own_is_asked_and_one_that_fails_has_not_passed(shop: Shop) -> None:
    app: dict[str, Content] = {"app.py": SERVER}
    result = shop.judged(app, ("/", "/broken"), serve=f"{PYTHON} app.py")
    assert [one.page for one in result.pictures] == ["/"] and result.evidence[0].command == f"{PYTHON} app.py"
    assert ["the server answers 500" in one.message for one in result.findings] == [True]
    for serve, keys, why in (("exit 3", {}, "it did not listen"), ("sleep 600", {"seconds": 2.0}, "it took over 2 s")):
        down = shop.judged(app, ("/", "/broken"), serve=serve, **keys)
        assert verdicts(down) == ["page_not_accepted"] * 2 and why in down.findings[0].message, down.findings


def test_a_browser_that_ends_has_shown_nothing(shop: Shop) -> None:
    result = shop.judged(RED, browser="/bin/true")
    assert verdicts(result) == ["page_not_accepted"] and "the browser ended" in result.findings[0].message


def test_without_a_browser_it_is_listed_by_name_and_refused_where_it_is_required(tmp_path: Path) -> None:
    shop = Shop(tmp_path, INDEX)
    result = shop.judged(RED, browser="no-such-chromium")
    assert (result.findings, result.pictures) == ([], [])
    [line] = result.unverified
    assert line.startswith("visual: no picture was taken: no-such-chromium is not here. Install it")
    with pytest.raises(DamascusError, match="which is required: no-such-chromium is not here"):
        shop.judged(RED, browser="no-such-chromium", required=True)


@pytest.mark.parametrize(("files", "keys"), [
    ({"README.md": "words\n", "tests/test_shop.py": "def test_shop():\n    assert 1 == 1\n"}, {}),
    ({"server.py": "x = 1\n"}, {"paths": ["site/**", "*.css"]}),
])  # fmt: skip
def test_a_story_that_touches_no_page_has_nothing_to_check(
    tmp_path: Path, files: dict[str, Content], keys: dict[str, Any]
) -> None:
    shop = Shop(tmp_path, INDEX)
    result = shop.judged(files, **keys)
    assert result == GateResult(gate="visual", evidence=result.evidence)
    assert result.evidence[0].summary == "the story touches nothing that a page shows"
    assert not (tmp_path / "c").exists(), "nothing was run"


def test_a_page_counts_though_no_path_names_it_and_without_pages_there_is_no_gate(tmp_path: Path) -> None:
    shop = Shop(tmp_path, INDEX)
    assert shop.judged(RED, paths=["*.css"], browser="no-such-chromium").unverified
    assert shop.judged(RED, ()) == GateResult(gate="visual")
