"""The API, asked by a real client over a real socket: the same facts and the same words as the command line."""

import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from damascus.domain.policy import RETRY_OPTIONS
from damascus.people import questions
from damascus.people.explaining import explained
from damascus.people.published import item, worker_info
from damascus.people.showing import shown
from damascus.store import artifacts, views
from damascus.store.db import sql
from damascus.store.stats import stats
from damascus.web.api import make_api, models
from damascus.web.options import Options
from damascus.web.server import Serving, _bound
from damascus.web.site import make_site
from damascus.web.site_state import SiteState
from tests.cli import states
from tests.web.serving import program, token, window
from tests.yard import Yard, story

HOSTILE = "</script><img src=x onerror=alert(1)> \x1b[31m\u202e\u2028 \"quote\" \\ \ud83d\ude00".encode(
    "utf-16", "surrogatepass"
).decode("utf-16")


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


@pytest.fixture
def api(yard: Yard) -> Iterator[httpx.Client]:
    with program(yard) as client:
        yield client


def problem(answer: httpx.Response, status: int) -> str:
    """Its sentence; every refusal has the same form."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    told = answer.json()
    assert (told["type"], told["status"]) == ("about:blank", status)
    assert "Traceback" not in answer.text and "\n" not in told["detail"]
    return str(told["detail"])


@pytest.mark.req("X9")
def test_every_path_answers_with_what_the_command_line_publishes(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1", title="dark mode"), story("S-2"))
    number = states.asks(yard, states.claim(yard)[0], "Which one holds?", *RETRY_OPTIONS)

    def same(path: str, value: Any) -> None:
        assert api.get(path).json() == json.loads(json.dumps(value, default=_plain)), path

    rows = {row.story_id: row for row in views.every_row(yard.db, yard.row)}
    same("/stories", {"items": [item(rows["S-2"]), item(rows["S-1"])], "next": None})
    same("/stories/S-1", shown(yard.app, yard.project, "S-1").published())
    same("/inbox", {"issues": [questions.published(one) for one in questions.open_questions(yard.db, yard.project)]})
    same("/stats", stats(yard.db, yard.row))
    assert api.get("/stories/s-1/why").json()["item"]["phase"] == "blocked"
    assert api.get("/stories/S-1/why").json()["why"].startswith("S-1")
    assert api.get("/inbox").json()["issues"][0]["choices"][0]["number"] == 1
    assert api.get("/queue").json() == {"queues": []}
    assert [one["id"] for one in api.get("/workers").json()["workers"]] == [states.WORKER]
    answer = api.post(f"/inbox/{number}/answer", json={"answer": "1 look at lib/"})
    assert answer.json()["said"].startswith("S-1 goes on in phase build with a new budget")
    assert yard.item("S-1")["answers"] == ["look at lib/"]


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value.isoformat().replace("+00:00", "Z")


@pytest.mark.req("X9")
def test_the_schemas_have_the_keys_that_are_published(yard: Yard) -> None:
    """A key that --json gets is a field here, and the other way round."""
    yard.add(story("S-1"))
    states.asks(yard, states.claim(yard)[0], "Which one?", "red", "blue")
    row = views.story_row(yard.db, yard.row, "S-1")
    [worker] = views.workers(yard.db, yard.row)
    [issue] = questions.open_questions(yard.db, yard.project)
    published = {
        models.StorySummary: item(row),
        models.WholeStory: shown(yard.app, yard.project, "S-1").published(),
        models.StoryWhy: explained(yard.app, yard.project, "S-1").published(),
        models.InboxEntry: questions.published(issue),
        models.AnswerOffered: questions.published(issue)["choices"][0],
        models.Stats: stats(yard.db, yard.row),
        models.WorkerInfo: worker_info(worker),
        models.WaitingFor: item(row)["waiting_for"],
    }
    for schema, value in published.items():
        assert set(schema.model_fields) == set(value), schema


@pytest.mark.req("X9")
def test_a_cursor_walks_every_story_once(yard: Yard, api: httpx.Client) -> None:
    yard.add(*(story(f"S-{n}") for n in range(25)))
    met: list[str] = []
    after: str | None = None
    while True:
        params = {"limit": "7"} | ({"after": after} if after else {})
        page = api.get("/stories", params=params).json()
        met += [one["story_id"] for one in page["items"]]
        after = page["next"]
        if len(met) == 7:
            yard.add(story("S-late"))  # what is added meanwhile moves nobody
        if after is None:
            break
    assert met == [f"S-{n}" for n in range(24, -1, -1)]
    assert api.get("/stories", params={"limit": 1}).json()["items"][0]["story_id"] == "S-late"


@pytest.mark.req("X9")
def test_stories_are_picked_by_phase_and_by_wait(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1"), story("S-2", depends_on=["S-1"]), story("S-3"))
    states.claim(yard, 3)
    api.post("/stories/S-3/cancel", json={})

    def names(**params: Any) -> list[str]:
        return [one["story_id"] for one in api.get("/stories", params=params).json()["items"]]

    assert names(phase="cancelled") == ["S-3"]
    assert names(phase=["cancelled", "build"]) == ["S-3", "S-2", "S-1"]
    assert names(wait="dependency") == ["S-2"]
    assert names(wait="dependency", phase="done") == []
    assert "phase" in problem(api.get("/stories", params={"phase": "sleeping"}), 400)
    assert "is no cursor" in problem(api.get("/stories", params={"after": "x"}), 400)
    assert "limit" in problem(api.get("/stories", params={"limit": 0}), 400)


@pytest.mark.req("X9")
def test_a_page_of_many_stories_is_a_walk_along_an_index(yard: Yard) -> None:
    """No sort of everything and no reading of everything, with or without a phase."""
    yard.add(story("S-1"))
    copied = "project_id, project, repo_id, title, phase, state, spec, spec_hash, spec_path, branch, priority"
    yard.db.run(
        lambda c: c.execute(
            f"INSERT INTO work_items (story_id, {copied}) SELECT 'T-' || n, {copied} FROM work_items,"
            " generate_series(1, 20000) n".encode()
        )
    )
    yard.db.run(lambda c: c.execute("ANALYZE work_items"))
    params = {"project": yard.row.id, "phases": ["build", "done"], "before": 2**62, "limit": 50}
    text = f"EXPLAIN (ANALYZE, BUFFERS) {sql('list_items')}".encode()
    plan = yard.db.run(lambda c: c.execute(text, params).fetchall())
    told = "\n".join(row["QUERY PLAN"] for row in plan)
    assert "work_items_listed" in told and "Seq Scan on work_items" not in told
    assert int(re.findall(r"Buffers: shared hit=(\d+)", told)[0]) < 100, told


@pytest.mark.req("X9")
def test_what_a_client_has_already_is_not_sent_again(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1"))
    for path in ("/stories", "/stories/S-1", "/inbox", "/events"):
        first = api.get(path)
        again = api.get(path, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"]), path
    tag = api.get("/stories").headers["etag"]
    api.post("/stories/S-1/cancel", json={})
    assert api.get("/stories", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.req("X9")
def test_refusals_are_by_kind_and_in_the_words_of_the_command(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1", title="dark mode"))
    number = states.asks(yard, states.claim(yard)[0], "Which one?", *RETRY_OPTIONS)
    for path in ("", "/why", "/receipt", "/artifacts", "/artifacts/build/x"):
        told = problem(api.get(f"/stories/S-9{path}"), 404)
        assert told == "there is no story 'S-9' in this project. See them all: damascus status --all"
    assert "has no receipt yet" in problem(api.get("/stories/S-1/receipt"), 404)
    assert "has no artifact 'build/x'" in problem(api.get("/stories/S-1/artifacts/build/x"), 404)
    assert "there is no question 4711" in problem(api.post("/inbox/4711/answer", json={"answer": "1"}), 404)
    assert "9 is none of them" in problem(api.post(f"/inbox/{number}/answer", json={"answer": "9"}), 409)
    moved = problem(api.post("/stories/S-1/retry", json={"phase": "build"}), 409)
    assert moved.startswith("S-1 was in phase build when you looked and is in blocked now. Nothing was done.")
    assert yard.item("S-1")["phase"] == "blocked"
    assert api.post(f"/inbox/{number}/answer", json={"answer": "1"}).status_code == 200
    assert "was answered already" in problem(api.post(f"/inbox/{number}/answer", json={"answer": "1"}), 409)
    assert api.post("/stories/S-1/cancel", json={"phase": "build"}).json()["phase"] == "cancelled"
    assert "is cancelled already" in problem(api.post("/stories/S-1/cancel", json={}), 409)
    assert "Not Found" in problem(api.get("/nothing"), 404)
    assert "Method Not Allowed" in problem(api.delete("/stories/S-1"), 405)


@pytest.mark.req("X9")
@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"phase": 1}', b'{"done": true}', b'{"hint": "\\u0000"}', b'{"hint": "\\ud800"}',
             b'{"hint": "' + b"x" * 10_001 + b'"}', b"\xff\xfe"],
)  # fmt: skip
def test_a_wrong_body_is_refused_and_nothing_is_done(yard: Yard, api: httpx.Client, body: bytes) -> None:
    yard.add(story("S-1"))
    was = yard.item("S-1")
    headers = {"Content-Type": "application/json"}
    problem(api.post("/stories/S-1/retry", content=body, headers=headers), 400)
    assert yard.item("S-1") == was


@pytest.mark.req("X9")
@pytest.mark.parametrize(
    "name", ["%00", "..%2F..%2Fetc%2Fpasswd", "S-1'%20OR%20'1'='1", "%ff", "%E2%80%AE", "x" * 4000, "%25s"]
)
def test_a_hostile_id_is_no_story(yard: Yard, api: httpx.Client, name: str) -> None:
    yard.add(story("S-1"))
    for path in ("", "/why", "/receipt", "/artifacts"):
        assert api.get(f"/stories/{name}{path}").status_code in (400, 404)
    for verb in ("retry", "cancel"):
        assert api.post(f"/stories/{name}/{verb}", json={}).status_code in (400, 404)
    assert yard.item("S-1")["phase"] == "build"


@pytest.mark.req("X9")
def test_what_an_agent_wrote_is_data_and_its_keys_are_masked(
    yard: Yard, api: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "sk-very-secret-1")
    yard.add(story("S-1"))
    item_ = states.claim(yard)[0]
    text = f"{HOSTILE} sk-very-secret-1 "
    states.asks(yard, item_, text, HOSTILE, "blue")
    content = f"<html>{HOSTILE} sk-very-secret-1</html>".encode()
    yard.db.run(lambda c: artifacts.put(c, item_.id, "build/notes.md", content, run_no=1, step="verify"))
    for path in ("/inbox", "/stories/S-1", "/stories", "/events", "/stories/S-1/artifacts"):
        answer = api.get(path)
        assert answer.headers["content-type"] == "application/json"
        assert "sk-very-secret-1" not in answer.text and "\u202e" not in answer.text
        json.loads(answer.text)
    assert HOSTILE in api.get("/inbox").json()["issues"][0]["options"]
    file = api.get("/stories/S-1/artifacts/build/notes.md")
    assert file.headers["content-type"] == "text/plain; charset=utf-8"
    assert file.headers["content-disposition"] == "attachment" and "sk-very-secret-1" not in file.text


@pytest.mark.req("X9")
def test_events_in_pages_miss_none_and_repeat_none(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1"), story("S-2"), story("S-3"))
    whole = api.get("/events", params={"after": 0, "limit": 500}).json()
    assert (whole["more"], whole["gone"]) == (False, None)
    met: list[int] = []
    after, more = 0, True
    while more:
        page = api.get("/events", params={"after": after, "limit": 1}).json()
        met += [one["seq"] for one in page["events"]]
        after, more = page["next"], page["more"]
    assert met == [one["seq"] for one in whole["events"]] == sorted(set(met))
    assert api.get("/events", params={"after": after}).json()["events"] == []
    own = api.get("/events", params={"story": "s-2", "after": 0}).json()
    assert {one["story_id"] for one in own["events"]} == {"S-2"} and not own["more"]
    assert [one["seq"] for one in api.get("/events", params={"limit": 1}).json()["events"]] == met[-1:]
    problem(api.get("/events", params={"story": "S-9"}), 404)
    problem(api.get("/events", params={"after": 2**63}), 400)


@pytest.mark.req("X9")
def test_events_come_as_they_happen_and_none_is_missed_by_who_comes_again(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1", title=HOSTILE.replace("\x1b[31m", "").replace("\u2028", "")))
    seen = api.get("/events", params={"after": 0}).json()["events"]

    def heard(count: int, headers: dict[str, str], **params: Any) -> list[dict[str, Any]]:
        asked = {"Accept": "text/event-stream", **headers}
        found: list[dict[str, Any]] = []
        with api.stream("GET", "/events", headers=asked, params=params) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if line == ": here":
                    yard.add(story(f"S-{len(headers) + 2}"))
                if line.startswith("data: "):
                    found.append(json.loads(line.removeprefix("data: ")))
                if len(found) == count:
                    break
        return found

    first = heard(len(seen) + 1, {}, after=0)
    assert first[: len(seen)] == seen and first[-1]["story_id"] == "S-2"
    [then] = heard(1, {"Last-Event-ID": str(first[-1]["seq"])}, after=0)
    assert (then["seq"], then["story_id"]) == (first[-1]["seq"] + 1, "S-3")


@pytest.mark.req("X9")
def test_what_a_program_does_is_written_down(yard: Yard, api: httpx.Client) -> None:
    yard.add(story("S-1"))
    problem(api.post("/stories/S-9/retry", json={}), 404)
    api.post("/stories/S-1/cancel", json={})
    refused, done = yard.query("SELECT * FROM audit ORDER BY id")
    assert (refused["act"], refused["target"]) == ("retry", "S-9") and refused["outcome"].startswith("refused: ")
    assert done["who"] == "a test (token 1)" and done["by"] == "program" and done["origin"] == "127.0.0.1"
    assert done["outcome"] == "S-1 is cancelled."


@pytest.mark.req("X9")
def test_stories_are_added_by_their_text_all_or_none(yard: Yard, api: httpx.Client) -> None:
    bad = problem(api.post("/stories", json={"specs": [story("S-1"), "no spec"]}), 400)
    assert bad.endswith("Nothing was queued.") and yard.query("SELECT 1 FROM work_items") == []
    assert "acceptance" in problem(api.post("/stories", json={"specs": [story("S-1", acceptance="../held")]}), 400)
    done = api.post("/stories", json={"specs": [story("S-1"), story("S-2", depends_on=["S-1"])]})
    assert done.status_code == 201
    assert [one["story_id"] for one in done.json()["queued"]] == ["S-1", "S-2"]
    assert yard.item("S-1")["spec_path"] == "specs/S-1.md"


@pytest.mark.req("X9")
def test_health_needs_nobody_and_tells_nothing(yard: Yard) -> None:
    with window(yard) as url:
        for path in ("/healthz", "/readyz"):
            answer = httpx.get(f"{url}{path}", trust_env=False)
            assert (answer.status_code, answer.text) == (200, "ok\n")
        assert httpx.get(f"{url}/api/v1/stories", trust_env=False).status_code == 401


@pytest.mark.req("X9")
def test_a_token_reads_or_acts_and_ends(yard: Yard) -> None:
    yard.add(story("S-1"))
    with window(yard) as url:

        def ask(shown_: str, method: str = "GET", path: str = "/stories") -> httpx.Response:
            headers = {"Authorization": f"Bearer {shown_}"}
            body = {} if method == "POST" else None
            return httpx.request(method, f"{url}/api/v1{path}", headers=headers, json=body, trust_env=False)

        reads, acts = token(yard, "read"), token(yard, "act")
        assert (ask(reads).status_code, ask(acts).status_code) == (200, 200)
        assert "may only read" in problem(ask(reads, "POST", "/stories/S-1/cancel"), 403)
        assert yard.item("S-1")["phase"] == "build"
        old = token(yard, "act", days=1)
        yard.query("UPDATE tokens SET expires_at = now() - interval '1 s' WHERE expires_at IS NOT NULL RETURNING 1")
        wrong = acts[:-1] + ("A" if acts[-1] != "A" else "B")
        for shown_ in (old, wrong, "damascus_1_", f"damascus_{2**62}_{'x' * 43}", "x" * 5000, "damascus_0_" + "x" * 43):
            assert "unknown, expired or revoked" in problem(ask(shown_), 401)
        yard.query("UPDATE tokens SET revoked_at = now() RETURNING 1")
        problem(ask(acts), 401)
        problem(ask(acts, "POST", "/stories/S-1/cancel"), 401)
    assert yard.item("S-1")["phase"] == "build"


@pytest.mark.req("X9")
def test_read_only_refuses_a_token_that_may_act(yard: Yard) -> None:
    yard.add(story("S-1"))
    with program(yard, read_only=True) as client:
        assert "read-only" in problem(client.post("/stories/S-1/cancel", json={}), 403)
        assert client.get("/stories").status_code == 200


@pytest.mark.req("X9")
def test_a_page_of_the_window_uses_its_cookie_and_its_mark(yard: Yard) -> None:
    """A browser's write needs both, and the page's own origin."""
    yard.add(story("S-1"))
    options = Options(port=0)
    site = make_site(yard.app, yard.project, options)
    serving = Serving(site, options)
    with httpx.Client(base_url=serving.start(), trust_env=False, timeout=60) as client:
        sessions = site.state.window.sessions
        cookie = sessions.cookie_of("abc", int(time.time()))
        known = sessions.known(cookie)
        assert known is not None
        client.cookies.set(sessions.cookie, cookie)
        assert client.get("/api/v1/stories").status_code == 200
        path, origin = "/api/v1/stories/S-1/cancel", {"Origin": serving.url}
        problem(client.post(path, json={}), 403)
        problem(client.post(path, json={}, headers=origin), 403)
        problem(client.post(path, json={}, headers={"Origin": "http://evil.example", "X-CSRF": known.csrf}), 403)
        assert yard.item("S-1")["phase"] == "build"
        assert client.post(path, json={}, headers={**origin, "X-CSRF": known.csrf}).status_code == 200
        tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        told = problem(client.post("/mcp", json=tools, headers={**origin, "X-CSRF": known.csrf}), 401)
        assert "send a token" in told
    serving.stop()


def test_an_answer_is_not_held_back_by_the_socket() -> None:
    """Without the protocol named, asyncio leaves Nagle's algorithm on: 40 ms for every answer in two parts."""
    with _bound("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


@pytest.mark.req("X9")
def test_a_bug_is_one_sentence_and_a_file(
    yard: Yard, api: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "kept"))
    monkeypatch.setattr("damascus.web.api.project.figures", lambda *_: 1 / 0)
    assert problem(api.get("/stats"), 500).startswith("This is a bug in Damascus.")
    [kept] = (tmp_path / "kept" / "logs").glob("bug-*.txt")
    assert "ZeroDivisionError" in kept.read_text()


@pytest.mark.req("X9")
def test_the_page_about_the_api_names_every_path(yard: Yard) -> None:
    made = make_api(SiteState(yard.app, yard.project, Options())).openapi()
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
    named = set(re.findall(r"^\| `(GET|POST) (/\S+)` \|", page, re.MULTILINE))
    there = {(verb.upper(), path) for path, verbs in made["paths"].items() for verb in verbs}
    assert named - {("GET", "/openapi.json")} == there
