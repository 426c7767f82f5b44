"""A way to the model ends with its step, and leads where the user says."""

import socket
import ssl
import stat
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import httpx
import pytest

from damascus.domain.errors import DamascusError, UsageError
from damascus.gateway.bridge import GatewayBridge, WayOut
from tests.agents.bridged import KEY, MESSAGES, agent, bridged
from tests.agents.upstream import Gateway, Talk
from tests.waiting import eventually


def hangs(talk: Talk) -> None:
    talk.gone()


def hangs_inside_a_stream(talk: Talk) -> None:
    talk.begin_stream()
    talk.event({"n": 1})
    talk.gone()


@pytest.mark.req("W9")
@pytest.mark.parametrize("hang", [hangs, hangs_inside_a_stream])
def test_the_end_of_the_step_ends_every_connection_on_both_sides(tmp_path: Path, hang: Callable[[Talk], None]) -> None:
    ended = threading.Event()

    def answer(talk: Talk) -> None:
        hang(talk)
        ended.set()

    failed: Queue[BaseException] = Queue()

    def ask(way: WayOut) -> None:
        with agent(way) as client:
            try:
                client.post(MESSAGES, json={})
            except httpx.HTTPError as err:
                failed.put(err)

    with Gateway(answer) as gateway:
        with GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
            asking = threading.Thread(target=ask, args=(way,))
            asking.start()
            idle = socket.socket(socket.AF_UNIX)
            idle.connect(str(way.socket))
            eventually(lambda: gateway.asked, what="the call")
        assert ended.wait(10), "the gateway still has its connection"
        assert isinstance(failed.get(timeout=10), httpx.HTTPError)
        asking.join()
        idle.settimeout(10)
        assert idle.recv(1) == b""
        idle.close()
        assert not way.socket.exists()
        assert way.facts().errors_in_a_row == 0, "we ended it: no fault of the provider's"


@pytest.mark.req("W9")
def test_an_agent_that_goes_away_ends_its_call(tmp_path: Path) -> None:
    """Else the provider goes on, and tokens are spent for nobody."""
    ended = threading.Event()

    def answer(talk: Talk) -> None:
        talk.begin_stream()
        try:
            while True:
                talk.event({"n": 1})
        except OSError:
            ended.set()

    with Gateway(answer) as gateway, bridged(gateway, tmp_path) as (way, client):
        with client.stream("POST", MESSAGES, json={}) as stream:
            next(stream.iter_lines())
        assert ended.wait(10)
        assert way.facts().errors_in_a_row == 0


@pytest.mark.req("W9")
def test_the_socket_is_private_and_its_path_short(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    with Gateway() as gateway:
        for folder in (tmp_path, deep):
            with bridged(gateway, folder) as (way, client):
                assert stat.S_IMODE(way.socket.stat().st_mode) == 0o600
                assert len(str(way.socket).encode()) < 100
                assert client.post(MESSAGES).status_code == 200
                assert way.socket.parent == tmp_path or stat.S_IMODE(way.socket.parent.stat().st_mode) == 0o700
            assert not way.socket.exists()
        assert not way.socket.parent.exists()


@pytest.mark.req("W9")
def test_a_dead_steps_socket_is_replaced_but_nothing_else(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "gateway.sock"))
    with Gateway() as gateway:
        with bridged(gateway, tmp_path) as (_, client):
            assert client.post(MESSAGES).status_code == 200
        (tmp_path / "gateway.sock").write_text("a file of somebody's")
        with pytest.raises(OSError), bridged(gateway, tmp_path):
            pass
        assert (tmp_path / "gateway.sock").read_text() == "a file of somebody's"


# ── where to ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D5")
def test_a_gateway_below_a_path_and_by_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    ended = threading.Event()

    def answer(talk: Talk) -> None:
        if talk.path.endswith("/responses"):
            talk.gone()
            ended.set()
        else:
            talk.reply()

    with Gateway(answer, tls=context) as gateway, ThreadPoolExecutor(1) as pool:
        with GatewayBridge(f"{gateway.url}/anthropic/v1/", KEY).open(tmp_path) as way, agent(way) as client:
            assert client.post(MESSAGES, json={}).status_code == 200
            assert gateway.asked[0].target == "/anthropic/v1/messages"
            assert gateway.asked[0].headers["Host"] == gateway.host
            pool.submit(client.post, "/v1/responses")
            eventually(lambda: len(gateway.asked) == 2, what="the second call")
        assert ended.wait(10)


@pytest.mark.req("W9")
def test_a_gateway_without_a_good_certificate_gets_nothing(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    with Gateway(tls=context) as gateway, bridged(gateway, tmp_path) as (_, client):
        assert client.post(MESSAGES, json={}).status_code == 502
        assert gateway.asked == []


def self_signed(folder: Path) -> Path:
    """Key and certificate for 127.0.0.1 in one file."""
    made = folder / "certificate.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        files = ["-keyout", made, "-out", folder / "c"]
        subprocess.run(["openssl", *words, *names, *files], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is missing: apt-get install openssl")
    made.write_bytes(made.read_bytes() + (folder / "c").read_bytes())
    return made


@pytest.mark.req("D5")
def test_without_a_gateway_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DamascusError) as told:
        GatewayBridge.from_environment({"ANTHROPIC_API_KEY": KEY}, "", tmp_path)
    assert str(told.value) == "no model gateway: set ANTHROPIC_BASE_URL or start one: damascus gateway"


@pytest.mark.req("D5")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": "no"}, {"x-api-key": KEY}),
        ({"ANTHROPIC_AUTH_TOKEN": KEY}, {"authorization": f"Bearer {KEY}"}),
        ({"LITELLM_MASTER_KEY": KEY}, {"authorization": f"Bearer {KEY}"}),
        ({}, {}),
    ],
)
def test_key_and_gateway_come_from_the_workers_environment(
    tmp_path: Path, environ: dict[str, str], expected: dict[str, str]
) -> None:
    with Gateway() as gateway, Gateway() as other:
        for configured, base in ((gateway.url, other.url), ("", gateway.url)):
            bridge = GatewayBridge.from_environment({**environ, "ANTHROPIC_BASE_URL": base}, configured, tmp_path)
            with bridge.open(tmp_path) as way, agent(way) as client:
                client.post(MESSAGES, json={})
        assert other.asked == []
        shown = [{name.lower(): value for name, value in asked.headers.items()} for asked in gateway.asked]
        assert [{name: each[name] for name in ("x-api-key", "authorization") if name in each} for each in shown] == [
            expected,
            expected,
        ]


@pytest.mark.req("W9")
def test_a_repository_does_not_say_where_the_users_key_goes() -> None:
    theirs = "https://gateway.example/llm"
    mine = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:4000"}
    with pytest.raises(DamascusError, match="nothing of yours says that your key may go there"):
        GatewayBridge.from_environment(mine, theirs)
    for name in ("ANTHROPIC_BASE_URL", "DAMASCUS_AGENT_GATEWAY"):
        agreed = GatewayBridge.from_environment({"ANTHROPIC_API_KEY": KEY, name: f"{theirs}/"}, theirs)
        assert agreed.url == theirs
    assert GatewayBridge.from_environment({}, theirs).url == theirs


@pytest.mark.req("D5")
@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("127.0.0.1:4000", None), ("ftp://127.0.0.1", None), ("http://", None), ("http://a:b@127.0.0.1", None),
        ("http://127.0.0.1/?a=b", None), ("http://127.0.0.1", "two words"), ("http://127.0.0.1", "line\nbreak"),
    ],
)  # fmt: skip
def test_an_address_or_a_key_that_can_not_be_is_refused(url: str, key: str | None) -> None:
    with pytest.raises(UsageError) as told:
        GatewayBridge(url, key)
    assert key is None or key not in str(told.value)
    assert "a:b@" not in str(told.value)
