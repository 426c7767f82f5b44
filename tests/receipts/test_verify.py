"""`receipt verify` on a fresh clone: the same; after one byte is changed anywhere: named, and exit 1."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from damascus.domain.receipt import BuildReceipt, SpecOfReceipt
from damascus.domain.receipt_note import note_text, read_note
from damascus.people.receipt_files import exported
from damascus.people.receipt_verifying import Verification, verify
from damascus.store.receipts import latest_receipt
from damascus.system.signing import make_key
from tests import databases
from tests.yard import HONEST, PERSON, Yard, story

NOTES = "refs/notes/damascus"
RAISED = {"REQ-001": "FULLY_VERIFIED"}


class Landed:
    """A story that landed in a yard whose installation has a key, and a clone of its repository elsewhere."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.yard = Yard(folder / "yard", database_url)
        self.key = make_key(self.yard.app.home)
        self.yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
        self.yard.work(self.yard.agent(HONEST))
        assert self.yard.item("S-1")["phase"] == "done", self.yard.questions()
        self.clone = folder / "clone"
        self._git(folder, "clone", "-q", str(self.yard.repo), str(self.clone))
        self.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
        self.head = self.git("rev-parse", "HEAD")
        self.note = subprocess.run(
            ["git", "notes", "--ref=damascus", "show", "HEAD"], cwd=self.clone, capture_output=True, check=True
        ).stdout
        self.empty = folder / "no-data-folder"

    def _git(self, where: Path, *words: str) -> str:
        env = {**self.yard.environ, **PERSON}
        done = subprocess.run(["git", *words], cwd=where, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def git(self, *words: str) -> str:
        return self._git(self.clone, *words)

    def receipt(self) -> BuildReceipt:
        found = read_note(self.note).receipt
        assert found is not None
        return found

    def verify(self, what: str = "HEAD", *keys: Path) -> Verification:
        """On a machine that has neither the database nor the data folder."""
        return verify(self.clone, what, {"PATH": self.yard.environ["PATH"]}, self.empty, keys)

    def put_note(self, text: bytes, commit: str = "HEAD") -> None:
        (self.clone / ".git/new-note").write_bytes(text)
        self.git("notes", "--ref=damascus", "add", "-f", "-F", ".git/new-note", commit)

    def export(self) -> Path:
        receipt = latest_receipt(self.yard.db, self.yard.item("S-1")["id"])
        assert receipt is not None
        file = self.clone.parent / "S-1.intoto.jsonl"
        file.write_bytes(exported(receipt, self.yard.project.mirror, self.yard.project.config, self.yard.app.home))
        return file


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Landed]:

    with databases.fresh_database() as url:
        yield Landed(tmp_path_factory.mktemp("landed"), url)


@pytest.fixture(autouse=True)
def _as_it_was(landed: Landed) -> None:
    landed.git("fetch", "-q", "origin", f"+{NOTES}:{NOTES}")


@pytest.mark.req("X7.1")
def test_on_a_fresh_clone_without_a_database_it_is_the_same(landed: Landed) -> None:
    done = landed.verify()
    assert (done.code, done.differences, done.unjudged) == (0, (), "")
    assert "is not known here (--key FILE)" in done.listed[0], "it is signed, by a key that nobody here knows"
    signed = landed.verify("HEAD", landed.key)
    assert (signed.code, signed.listed) == (0, ())


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


def _forged(landed: Landed, change: Callable[[dict[str, object]], None]) -> BuildReceipt:
    told = landed.receipt().model_dump(mode="json")
    change(told)
    return BuildReceipt.model_validate(told)


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
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_forged_note_with_a_right_hash_is_found_by_running_it_again(
    landed: Landed, where: str, change: Callable[[dict[str, object]], None]
) -> None:
    landed.put_note(note_text(_forged(landed, change)))
    done = landed.verify()
    assert done.code == 1 and any(told.startswith(where) for told in done.differences), done.differences
    assert "the note is not signed" in landed.verify("HEAD", landed.key).differences


@pytest.mark.req("X7.1")
def test_a_spec_that_was_changed_is_named_without_a_run(landed: Landed) -> None:
    def other_spec(told: dict[str, object]) -> None:
        told["proof"]["spec"]["content"] = base64.b64encode(b"---\nstory: S-1\n---\n").decode()  # type: ignore[index]

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
    def no_such_command(told: dict[str, object]) -> None:
        spec = landed.receipt().proof.spec.raw.decode()
        command = spec.partition("```sh\n")[2].partition("\n```")[0]
        other = spec.replace(command, "no-such-runner tests/test_m1.py").encode()

        told["proof"]["spec"] = SpecOfReceipt.of("specs/S-1.md", other).model_dump()  # type: ignore[index]

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
