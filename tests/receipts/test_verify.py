"""`receipt verify` on a fresh clone: the same; after one byte is changed anywhere: named, and exit 1."""

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.receipt import BuildReceipt, SpecOfReceipt
from damascus.domain.receipt_note import note_text, read_note
from damascus.gates.impact import UNKNOWN
from damascus.people.receipt_files import exported
from damascus.people.receipt_verifying import verify
from tests.cli.conftest import Cli
from tests.receipts.landed import Landed
from tests.yard import HONEST, Yard, story

RAISED = {"REQ-001": "FULLY_VERIFIED"}
SURVIVOR = {"path": "m1.py", "line": 1, "operator": "+ to -", "by": "us", "mark": "m"}


@pytest.mark.req("X7.1")
def test_on_a_fresh_clone_without_a_database_it_is_the_same(landed: Landed) -> None:
    done = landed.verify()
    assert (done.code, done.differences, done.unjudged) == (0, (), "")
    assert "is not known here (--key FILE)" in done.listed[0], "it is signed, by a key that nobody here knows"
    signed = landed.verify("HEAD", landed.key)
    assert (signed.code, signed.listed) == (0, (f"not verified here alone: impact: {UNKNOWN}",)), (
        "no database, no owners"
    )


@pytest.mark.req("X7.1")
def test_every_byte_of_the_note_counts(landed: Landed) -> None:
    for at in {0, len(landed.note) // 3, len(landed.note) // 2, len(landed.note) - 250, len(landed.note) - 30}:
        changed = bytearray(landed.note)
        changed[at] = changed[at] ^ 1
        landed.put_note(bytes(changed))
        done = landed.verify("HEAD", landed.key)
        assert done.code == 1 and done.differences, f"byte {at}"
        assert "the note" in done.differences[0]


@pytest.mark.req("X7.1")
def test_a_commit_with_one_byte_changed_is_another_and_its_note_is_no_receipt_of_it(landed: Landed) -> None:
    raw = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=landed.clone, capture_output=True, check=True
    ).stdout
    (landed.clone / ".git/new-commit").write_bytes(raw.replace(b"S-1", b"S-2", 1))
    other = landed.git("hash-object", "-t", "commit", "-w", ".git/new-commit")
    assert landed.verify(other).code == 2, "nobody put a receipt there"
    files = landed.git("commit-tree", "HEAD~1^{tree}", "-p", "HEAD~1", "-m", "other files")
    landed.put_note(landed.note, files)
    done = landed.verify(files)
    assert done.code == 1 and "has other files" in done.differences[0]


@pytest.mark.req("X7.1")
def test_another_commit_with_the_same_files_is_told_as_another(
    landed: Landed, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A squash merge makes one, and so does who signs somebody else's work."""
    other = landed.git("commit-tree", "HEAD^{tree}", "-m", "revert everything, approved by the director")
    landed.put_note(landed.note, other)
    monkeypatch.setenv("DAMASCUS_HOME", str(landed.empty))
    monkeypatch.chdir(landed.clone)
    told = f"{other[:7]} is another commit than {landed.head[:7]}, with the same files"
    done = command("receipt", "verify", other, "--key", str(landed.key))
    assert done.code == 0 and f"  {told}.\n" in done.out
    assert command("receipt", "verify", other, "--json").json["another_commit"] == told
    assert landed.verify().another == ""
    landed.put_note(note_text(_forged(landed, lambda told: told["notes"].append("and it is fast"))), other)
    forged = landed.verify(other)
    assert forged.code == 1 and forged.differences == ("notes: only in the receipt: and it is fast",)


def _forged(landed: Landed, change: Callable[[Any], object]) -> BuildReceipt:
    told = landed.receipt().model_dump(mode="json")
    change(told)
    return BuildReceipt.model_validate(told)


def _gate(told: Any, name: str) -> int:
    return next(at for at, one in enumerate(told["proof"]["gates"]) if one["gate"] == name)


@pytest.mark.req("X7.1", "F9.3")
@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("tests.passed", lambda told: told["tests"].update(passed=2, total=2)),
        ("requirements.fr_status.REQ-001", lambda told: told["requirements"].update(fr_status=RAISED)),
        ("proof.green_tests", lambda told: told["proof"]["green_tests"].append("tests/test_m1.py::test_more")),
        ("timestamp", lambda told: told.update(timestamp="2020-01-01T00:00:00+00:00")),
        ("mutation.status", lambda told: told["mutation"].update(status="VERIFIED", score=100.0, killed=3, total=3)),
        ("docs.updated", lambda told: told["docs"].update(updated=True)),
        ("notes", lambda told: told.update(notes=["every critic has read it and found nothing"])),
        ("notes", lambda told: told["notes"].append("proved by mathematics")),
        ("notes", lambda told: told["notes"].append(told["notes"][0])),
        ("proof.left_out", lambda told: (told["proof"].update(left_out=[]), told.update(notes=[]))),
        ("proof.profile", lambda told: told["proof"].update(profile="full")),
        ("run_id", lambda told: (told["proof"].update(story="S-2"), told.update(run_id="S-2"))),
        ("proof.survivors", lambda told: told["proof"]["survivors"].append(SURVIVOR)),
        ("proof.held_out", lambda told: told["proof"].update(held_out=True)),
        ("gate lint", lambda told: told["proof"]["gates"].append({"gate": "lint", "passed": True})),
        ("gate scope: only here", lambda told: told["proof"]["gates"].pop(_gate(told, "scope"))),
        ("gate tests: tree", lambda told: told["proof"]["gates"][_gate(told, "tests")].update(tree="0" * 40)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_forged_note_with_a_right_hash_is_found_by_running_it_again(
    landed: Landed, where: str, change: Callable[[Any], object]
) -> None:
    landed.put_note(note_text(_forged(landed, change)))
    done = landed.verify()
    assert done.code == 1 and any(told.startswith(where) for told in done.differences), done.differences
    assert "the note is not signed" in landed.verify("HEAD", landed.key).differences


@pytest.mark.req("X7.1", "F9.3")
def test_forged_notes_in_an_exported_file_are_found_without_a_key(landed: Landed, tmp_path: Path) -> None:
    forged = _forged(landed, lambda told: told.update(notes=["every critic has read it and found nothing"]))
    file = tmp_path / "forged.jsonl"
    project = landed.yard.project
    file.write_bytes(exported(forged, project.mirror, project.config, tmp_path / "no-key"))
    done = landed.verify(str(file))
    assert done.code == 1 and "every critic has read it" in done.differences[0], done.differences
    assert "critique_tests was left out" in done.differences[1]


@pytest.mark.req("X7.1")
def test_what_is_not_verified_on_one_side_only_is_listed_by_name(landed: Landed) -> None:
    known = landed.receipt().proof.unverified
    assert known
    landed.put_note(note_text(_forged(landed, lambda told: told["proof"].update(unverified=["a tool"]))))
    done = landed.verify()
    assert done.code == 0, done.differences
    assert "not verified according to the receipt alone: a tool" in done.listed
    here = sorted([*known, f"impact: {UNKNOWN}"])
    assert f"not verified here alone: {', '.join(here)}" in done.listed


@pytest.mark.req("X7.1")
def test_a_spec_that_was_changed_is_named_without_a_run(landed: Landed) -> None:
    def other_spec(told: dict[str, Any]) -> None:
        told["proof"]["spec"]["content"] = base64.b64encode(b"---\nstory: S-1\n---\n").decode()

    landed.put_note(note_text(_forged(landed, other_spec)))
    done = landed.verify()
    assert done.code == 1 and "the spec in the receipt does not have the hash" in done.differences[0]


@pytest.mark.req("X7.1")
def test_exported_statements_verify_elsewhere_and_each_changed_one_is_named(landed: Landed) -> None:
    file = landed.export()
    kinds = [json.loads(base64.b64decode(json.loads(line)["payload"])) for line in file.read_bytes().splitlines()]
    red, green, summary, receipt = kinds
    assert [one["predicateType"].rpartition("/")[0].rpartition("/")[2] for one in kinds[:3]] == [
        "test-result",
        "test-result",
        "svr",
    ]
    assert red["predicate"]["result"] == "FAILED" and red["predicate"]["failedTests"]
    assert {"name": "tests/test_m1.py"}.items() <= red["subject"][1].items(), "with the tests' blobs as subjects"
    assert green["predicate"]["result"] == "PASSED" and green["subject"][0]["digest"] == {"gitCommit": landed.head}
    blob = landed.git("rev-parse", "HEAD~1:damascus.toml")
    assert summary["predicate"]["verifier"]["policies"] == [{"name": "damascus.toml", "digest": {"gitBlob": blob}}]
    assert receipt["predicate"]["run_id"] == "S-1"

    assert landed.verify(str(file), landed.key).code == 0
    lines = file.read_bytes().splitlines(keepends=True)
    for number in range(len(lines)):
        envelope = json.loads(lines[number])
        [signature] = envelope["signatures"]
        payload = bytearray(base64.b64decode(envelope["payload"]))
        payload[len(payload) // 2] ^= 1
        for broken in (
            {**envelope, "payload": base64.b64encode(payload).decode()},
            {**envelope, "signatures": [{**signature, "sig": _flipped(signature["sig"])}]},
        ):
            line = json.dumps(broken, sort_keys=True).encode() + b"\n"
            file.write_bytes(b"".join([*lines[:number], line, *lines[number + 1 :]]))
            done = landed.verify(str(file), landed.key)
            assert done.code == 1 and any(f"statement {number + 1}" in told for told in done.differences)


def _flipped(sig: str) -> str:
    raw = bytearray(base64.b64decode(sig))
    raw[3] ^= 1
    return base64.b64encode(raw).decode()


@pytest.mark.req("X7.1")
def test_what_cannot_be_run_here_cannot_be_judged(landed: Landed, tmp_path: Path) -> None:
    def no_such_command(told: dict[str, Any]) -> None:
        spec = landed.receipt().proof.spec.raw.decode()
        command = spec.partition("```sh\n")[2].partition("\n```")[0]
        other = spec.replace(command, "no-such-runner tests/test_m1.py").encode()

        told["proof"]["spec"] = SpecOfReceipt.of("specs/S-1.md", other).model_dump()

    landed.put_note(note_text(_forged(landed, no_such_command)))
    done = landed.verify()
    assert done.code == 2 and "could not be started here (exit 127)" in done.unjudged
    nobody = verify(landed.clone, "HEAD~1", {"PATH": landed.yard.environ["PATH"]}, tmp_path)
    assert nobody.code == 2 and "has no receipt here" in nobody.unjudged


@pytest.mark.req("F9.3")
def test_a_note_that_an_agent_writes_in_its_workspace_goes_nowhere(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
    forge = (
        "import subprocess\n"
        "who = ['-c', 'user.name=a', '-c', 'user.email=a@b']\n"
        "for words in ([*who, 'notes', '--ref=damascus', 'add', '-f', '-m', 'FULLY'],\n"
        "              ['update-ref', 'refs/notes/damascus', 'HEAD']):\n"
        "    subprocess.run(['git', *words], check=False)\n"
    )
    yard.work(yard.agent(HONEST + forge))
    assert yard.item("S-1")["phase"] == "done", yard.questions()
    noted = yard.git("notes", "--ref=damascus", "list").splitlines()
    assert [line.split()[1] for line in noted] == [yard.main()]
    assert read_note(yard.git("notes", "--ref=damascus", "show", "main").encode() + b"\n").problems == ()
