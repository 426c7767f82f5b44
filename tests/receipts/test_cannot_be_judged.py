"""`receipt verify` where nothing can be said for or against a receipt: exit 2, one sentence, what to do."""

import base64
import json
import subprocess
from pathlib import Path

import pytest

from damascus.domain.receipt_note import note_text
from damascus.domain.statements import PAYLOAD
from damascus.people.receipt_verifying import verify
from tests.cli.conftest import Cli
from tests.receipts.landed import Landed

PYTHONS_WORDS = ("Errno", "codec", "indices", "Error", "object", "'payload", "Expecting", "NoneType")


@pytest.fixture
def cli(landed: Landed, command: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("DAMASCUS_HOME", str(landed.empty))
    monkeypatch.chdir(landed.clone)
    return command


def unjudged(cli: Cli, *words: str) -> str:
    done = cli("receipt", "verify", *words)
    told = " ".join((done.out + done.err).split())
    assert done.code == 2 and "can't be judged here: " in told and "differs" not in told, told
    assert not any(word in told for word in PYTHONS_WORDS), told
    return told


@pytest.mark.req("X7.1")
@pytest.mark.parametrize("content", [None, "", "{}", "no key", "[" * 100_000, b"\xff\xfe\x00"])
def test_a_key_that_cannot_be_read(cli: Cli, tmp_path: Path, content: str | bytes | None) -> None:
    key = tmp_path / "key.json"
    if content is not None:
        key.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert "Name one of `damascus receipt key`" in unjudged(cli, "HEAD", "--key", str(key))
    assert "Name one of `damascus receipt key`" in unjudged(cli, "HEAD", "--key", str(tmp_path))


def _envelope(payload: bytes) -> bytes:
    told = {"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD, "signatures": []}
    return json.dumps(told).encode()


@pytest.mark.req("X7.1")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n", b"hello\n", b"[]", b"{}", b"null", b"17", b"\xfe\xff\xd8\x00", b"\xff" * 100, b"[" * 100_000,
        b'{"a":' * 100_000, b'{"payloadType": 1}', b'{"payload": 3, "payloadType": "x", "signatures": 7}',
        _envelope(b"[" * 100_000), _envelope(b"[]"), _envelope(b"\xff"), b'{"payload": "e30=", "signatures": []}',
    ],
    ids=range(17),
)  # fmt: skip
def test_a_file_that_is_no_receipt_at_all(cli: Cli, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a-file"
    file.write_bytes(content)
    assert "a-file is no exported receipt: " in unjudged(cli, str(file))


@pytest.mark.req("X7.1")
@pytest.mark.parametrize(
    "payload",
    [
        b'{"predicateType":"https://damascus.invalid/build-receipt/v1"}',
        b'{"predicate":[],"predicateType":"https://damascus.invalid/build-receipt/v1"}',
        b'{"a":"\\ud800"}',
        b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    ],
)
def test_a_file_of_statements_that_say_something_else_differs_in_plain_words(
    cli: Cli, tmp_path: Path, payload: bytes
) -> None:
    (tmp_path / "a-file").write_bytes(_envelope(payload))
    done = cli("receipt", "verify", str(tmp_path / "a-file"))
    assert done.code == 1 and not any(word in done.out for word in PYTHONS_WORDS), done


@pytest.mark.req("X7.1")
def test_a_note_with_claims_nested_without_end_is_told_in_one_sentence(landed: Landed, cli: Cli) -> None:
    said = landed.receipt().model_dump(mode="json")
    said["proof"]["said"] = [{"step": "critique_tests", "role": "test-critic", "claims": {"a": "NESTED"}}]
    body = json.dumps(said, sort_keys=True, indent=1).encode()
    landed.put_note(body.replace(b'"NESTED"', b"[" * 5000 + b"]" * 5000) + b"\n" + landed.note.rpartition(b"\n}\n")[2])
    done = cli("receipt", "verify", "HEAD")
    assert done.code == 1 and "the note was changed" in done.out, done


@pytest.mark.req("X7.1")
def test_without_git_on_the_path(landed: Landed, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(landed.export())
    monkeypatch.setenv("PATH", str(tmp_path))
    for what in ("HEAD", file):
        assert "git is not on the PATH. Install it" in unjudged(cli, what)


@pytest.mark.req("X7.1")
def test_a_shallow_clone_says_how_to_get_the_rest(
    landed: Landed, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landed.git("clone", "-q", "--depth=1", f"file://{landed.clone}", str(tmp_path / "shallow"))
    landed.git("-C", str(tmp_path / "shallow"), "fetch", "-q", "origin", "refs/notes/*:refs/notes/*")
    monkeypatch.chdir(tmp_path / "shallow")
    for what in ("HEAD", str(landed.export())):
        told = unjudged(cli, what)
        assert "that the receipt names is not in" in told and "git fetch --unshallow" in told


@pytest.mark.req("X7.1")
def test_another_repository_one_without_commits_and_none(
    landed: Landed, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(landed.export())
    monkeypatch.chdir(tmp_path)
    assert "is not in a git repository" in unjudged(cli, file)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    assert "has no commits yet" in unjudged(cli, file)
    landed.git("-C", str(tmp_path), "commit", "-q", "--allow-empty", "-m", "another")
    assert "Go to a clone of the repository S-1 is of" in unjudged(cli, file)
    assert "is neither a file nor a commit of" in unjudged(cli, "no-such-thing")


@pytest.mark.req("X7.1")
def test_what_is_wrong_with_a_note_is_told_though_its_base_is_not_here(landed: Landed, tmp_path: Path) -> None:
    landed.git("clone", "-q", "--depth=1", f"file://{landed.clone}", str(tmp_path / "shallow"))
    shallow = tmp_path / "shallow"
    (shallow / ".git/new-note").write_bytes(note_text(landed.receipt()))
    landed.git("-C", str(shallow), "notes", "--ref=damascus", "add", "-F", ".git/new-note")
    done = verify(shallow, "HEAD", {"PATH": landed.yard.environ["PATH"]}, landed.empty, [landed.key])
    assert done.code == 1 and done.differences == ("the note is not signed",) and "--unshallow" in done.unjudged
