"""Nobody gets in without the link, nobody acts from another page, nothing is run that somebody wrote."""

import socket
from pathlib import Path

import httpx
import pytest

from damascus.web.pages import now
from damascus.web.server import Serving
from damascus.web.sessions import LASTS, Sessions
from tests.cli.states import asks, claim
from tests.web.browser_like import Visitor, served
from tests.yard import Yard, story

PAGES = ("/", "/inbox", "/live", "/act/cancel?story=S-1", "/api/v1/stories", "/metrics", "/nowhere")
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def blocked_story(yard: Yard, **parts: str) -> int:
    yard.add(story("S-1", **parts))
    [item] = claim(yard)
    return asks(yard, item, "Which one holds?", "retry", "cancel the story")


def sent(visitor: Visitor, *lines: str) -> bytes:
    """As it is: an HTTP library would tidy it up."""
    host, _, port = visitor.serving.url.removeprefix("http://").partition(":")
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.http.cookies.items())
    head = [*lines, f"Host: {host}", f"Cookie: {cookie}", "Connection: close", "", ""]
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join(head).encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.req("X8")
@pytest.mark.parametrize("path", PAGES)
def test_without_a_cookie_nothing_is_told(serving: Serving, path: str) -> None:
    answer = Visitor(serving).get(path)
    assert answer.status_code == 401 and "opens with the link" in answer.text and "S-1" not in answer.text


@pytest.mark.req("X8")
def test_the_link_works_once_and_its_cookie_is_for_this_browser_alone(serving: Serving) -> None:
    link, first, second = serving.one_time_link(), Visitor(serving), Visitor(serving)
    entered = first.get(link)
    cookie = entered.headers["set-cookie"]
    assert entered.status_code == 200 and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert first.get("/").status_code == 200
    replayed = second.get(link)
    assert replayed.status_code == 403 and "used already" in replayed.text and "set-cookie" not in replayed.headers
    assert second.get("/").status_code == 401


@pytest.mark.req("X8")
@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_the_link_leads_to_a_page_of_this_window_only(serving: Serving, to: str) -> None:
    page = Visitor(serving).get(serving.one_time_link(), params={"to": to}).text
    assert "evil" not in page and "javascript" not in page and 'url=/"' in page


@pytest.mark.req("X8")
def test_a_cookie_is_known_again_and_a_forged_or_old_one_is_not(yard: Yard, visitor: Visitor) -> None:
    known = Sessions(yard.app.home, yard.row.uuid)
    good = dict(visitor.http.cookies)[known.cookie]
    assert known.known(good)
    session, since, name, mark = good.split(".")
    changed = (f"{session}x.{since}.{name}.{mark}", f"{session}.{int(since) + 1}.{name}.{mark}",
               f"{session}.{since}.QWRh.{mark}")  # fmt: skip
    for bad in (*changed, "", "a.b.c", "a.b.c.d", f"{good}.1", "é.1.é"):
        assert known.known(bad) is None, bad
    assert known.known(known.cookie_of("0" * 16, int(since) - LASTS - 1)) is None
    assert (yard.app.home / "window.key").stat().st_mode & 0o777 == 0o600
    named = known.enter(known.link("Bob"))
    assert named is not None and (found := known.known(named)) is not None and found.name == "Bob"
    with served(yard) as again:  # a window that was restarted
        assert httpx.get(again.url, cookies={known.cookie: good}).status_code == 200


@pytest.mark.req("X8")
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "0.0.0.0"])
def test_another_name_that_leads_here_is_refused(visitor: Visitor, host: str) -> None:
    """DNS rebinding: the browser believes that it talks to evil.example."""
    answer = visitor.get("/", headers={"Host": host})
    assert answer.status_code in (400, 421) and "repo" not in answer.text


@pytest.mark.req("X8")
def test_the_loopback_has_its_names_and_a_tunnel_may_have_another_port(visitor: Visitor) -> None:
    for host in ("localhost:9999", "127.0.0.1", "[::1]:8420", "LOCALHOST"):
        assert visitor.get("/", headers={"Host": host}).status_code == 200, host


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:1"},
    ],
)
def test_a_write_from_another_page_does_nothing(yard: Yard, visitor: Visitor, headers: dict[str, str]) -> None:
    number = blocked_story(yard)
    answer = visitor.act("answer", headers, question=str(number), choice="1")
    assert answer.status_code == 403 and yard.item("S-1")["phase"] == "blocked"


@pytest.mark.req("X8")
@pytest.mark.parametrize("mark", ["", "0" * 64, "é"])
def test_a_write_without_the_forms_mark_does_nothing(yard: Yard, visitor: Visitor, mark: str) -> None:
    number = blocked_story(yard)
    answer = visitor.act("answer", question=str(number), choice="1", csrf=mark)
    assert answer.status_code == 403 and "form is too old" in answer.text and yard.item("S-1")["phase"] == "blocked"


@pytest.mark.req("X8")
def test_the_mark_of_another_browser_is_none(yard: Yard, serving: Serving, visitor: Visitor) -> None:
    number, other = blocked_story(yard), Visitor(serving).enter()
    answer = visitor.act("answer", question=str(number), choice="1", csrf=other.csrf())
    assert answer.status_code == 403 and yard.item("S-1")["phase"] == "blocked"


@pytest.mark.req("X8")
def test_a_write_by_get_does_nothing(yard: Yard, visitor: Visitor) -> None:
    number = blocked_story(yard)
    for verb in ("answer", "cancel", "retry"):
        fields = {"question": str(number), "choice": "1", "story": "S-1", "sure": "yes", "csrf": visitor.csrf()}
        assert visitor.get(f"/act/{verb}", params=fields).status_code in (200, 303)
    assert yard.item("S-1")["phase"] == "blocked"


@pytest.mark.req("X8")
def test_a_read_only_window_shows_commands_and_does_nothing(yard: Yard) -> None:
    number = blocked_story(yard)
    with served(yard, read_only=True) as serving:
        visitor = Visitor(serving).enter()
        page = visitor.get("/inbox").text
        assert "<form class=\"answers" not in page and f"damascus answer {number} 1" in page and "read-only" in page
        answer = visitor.act("answer", question=str(number), choice="1")
        assert answer.status_code == 403 and "read-only" in answer.text
    assert yard.item("S-1")["phase"] == "blocked"


@pytest.mark.req("X8")
def test_every_answer_has_its_headers(visitor: Visitor) -> None:
    for path in ("/", "/static/window.css", "/nowhere", "/icon.svg?n=3"):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert "server" not in headers and "access-control-allow-origin" not in headers


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    "path",
    ["/static/../guard.py", "/static/%2e%2e/guard.py", "/static/..%2fguard.py", "/static//etc/passwd",
     "/static/..\\guard.py", "/stories/..%2f..%2fetc%2fpasswd", "/act/../../x", "/static/%00"],
)  # fmt: skip
def test_a_path_leads_to_nothing_but_pages(visitor: Visitor, path: str) -> None:
    answer = sent(visitor, f"GET {path} HTTP/1.1")
    assert b"root:" not in answer and b"def _refuse_host" not in answer
    assert answer.split(b" ", 2)[1] in (b"400", b"401", b"404", b"409"), answer[:200]


@pytest.mark.req("X8")
def test_what_is_too_large_is_refused(yard: Yard, visitor: Visitor) -> None:
    blocked_story(yard)
    large = visitor.act("retry", story="S-1", words="x" * 300_000)
    assert large.status_code == 413 and "more than is taken" in large.text
    answer = sent(visitor, "POST /act/retry HTTP/1.1", "Content-Length: 99999999999")
    assert answer.split(b" ", 2)[1] == b"413" and yard.item("S-1")["phase"] == "blocked"


@pytest.mark.req("X8")
def test_a_bug_of_ours_is_a_page_with_its_headers(
    yard: Yard, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path))

    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret of the inside")

    monkeypatch.setattr(now, "moment", broken)
    answers = [visitor.get("/") for _ in range(3)]
    assert {answer.status_code for answer in answers} == {500}
    assert "bug in Damascus: ZeroDivisionError" in answers[0].text and "inside" not in answers[0].text
    assert "default-src 'self'" in answers[0].headers["content-security-policy"]
    [kept] = (tmp_path / "logs").glob("bug-*.txt")
    assert "secret of the inside" in kept.read_text() and visitor.get("/inbox").status_code == 200


@pytest.mark.req("X8")
@pytest.mark.parametrize("path", ["/", "/inbox"])
def test_what_somebody_wrote_is_only_shown(yard: Yard, visitor: Visitor, path: str) -> None:
    """A title of 10,000 characters with a script; a question with HTML, escape codes and a turned line."""
    yard.add(story("S-1", title=f"'{SCRIPT} {'long ' * 2000}'"))
    [item] = claim(yard)
    asks(yard, item, f"{SCRIPT} \x1b[31mred\x1b[0m \u202egnp.exe\n--- a\n+{SCRIPT}", f"{SCRIPT}", "retry")
    answer = visitor.get(path)
    text = answer.text
    assert answer.status_code == 200 and "&lt;script&gt;" in text
    assert "<script>alert" not in text and "<img src=x" not in text and "\x1b" not in text and "\u202e" not in text
    assert "red" in text and len(text) < 60_000


@pytest.mark.req("X8")
def test_a_key_of_this_process_is_not_shown(yard: Yard, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-verysecretvalue")
    yard.add(story("S-1"))
    [item] = claim(yard)
    asks(yard, item, "Shall it?\n--- log\n+ said sk-verysecretvalue to http://ada:hunter2@host/", "retry")
    text = visitor.get("/inbox").text
    assert "verysecret" not in text and "hunter2" not in text and "•••" in text
