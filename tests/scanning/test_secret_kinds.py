"""Every kind of secret, however planted, is refused where a tool writes it and never reaches a pushed ref (A10)."""

import base64
import gzip
import io
import json
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.gates.secrets import Secrets
from damascus.scanning.false_alarms import alarms, ordinary_files
from damascus.scanning.lines import new_lines
from damascus.scanning.scan import DETECTORS, scan
from damascus.scanning.scanner import Scanner
from tests.gates.judging import Judging, verdicts
from tests.scanning.planted import tokens
from tests.waiting import LONG
from tests.writes.desk import Desk, notebook
from tests.yard import Yard, python, story

TOKENS = tokens()
FALSE_ALARMS_DOCUMENTED = 3
E2E = ("Anthropic", "AWS", "GitHub classic", "Slack bot", "private key")


@pytest.fixture(scope="module")
def quick() -> Iterator[Scanner]:
    scanner = Scanner(LONG, quick=True)
    yield scanner
    scanner.close()


@pytest.fixture(scope="module")
def thorough() -> Iterator[Scanner]:
    scanner = Scanner()
    yield scanner
    scanner.close()


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Judging:
    return Judging.of(
        tmp_path_factory.mktemp("judging"), {"src/old.py": "x = 1\n", "src/old.ipynb": notebook("x = 1\n")}
    )


def notebooks(token: str) -> dict[str, str]:
    """A cell as a list of lines, as one string in which it begins a line, escaped; an output, escaped, as base64."""
    escaped = "".join(f"\\u{ord(c):04x}" for c in token)
    output = [{"output_type": "stream", "text": base64.b64encode(f"found: {token}\n".encode()).decode()}]
    lines = {"cells": [{"cell_type": "code", "source": ["import os\n", f"print('{token}')\n"], "outputs": []}]}
    return {
        "lines": json.dumps(lines, indent=1),
        "string": notebook(f"import os\n{token}\n"),
        "escaped": notebook("x = 'TOKEN'").replace("TOKEN", escaped),
        "output": json.dumps({"cells": [], "outputs": f"found\n{token}\n"}),
        "escaped-output": json.dumps({"cells": [], "outputs": "TOKEN"}).replace("TOKEN", escaped),
        "base64": json.dumps({"cells": [{"cell_type": "code", "source": [], "outputs": output}]}),
    }


def by_shell(folder: Path, token: str) -> bytes:
    """A real shell, a real redirection."""
    subprocess.run(
        ["/bin/sh", "-c", f"printf 'value = %s\\n' {shlex.quote(token)} > shell.txt"], cwd=folder, check=True
    )
    return (folder / "shell.txt").read_bytes()


def test_there_are_enough_kinds() -> None:
    assert len(TOKENS) >= 25 and len(set(TOKENS.values())) == len(TOKENS)


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", TOKENS)
def test_through_the_pipeline_nothing_of_it_is_written(tmp_path: Path, quick: Scanner, kind: str) -> None:
    token, desk = TOKENS[kind], Desk.of(tmp_path, quick, sast=False)
    desk.put("src/old.py", "x = 1\n")
    desk.put("src/old.ipynb", notebook("x = 1\n"))
    tries = {
        "new": desk.write("src/new.py", f"\nVALUE = '{token}'\n"),
        "edit": desk.call("Edit", file_path="src/old.py", old_string="1", new_string=f"'{token}'"),
        "cell": desk.call("NotebookEdit", notebook_path="src/old.ipynb", cell_id="one", new_source=f"x = '{token}'"),
        "shell": desk.call("Bash", command=f"echo '{token}' > src/new.py"),
        **{name: desk.write(f"src/{name}.ipynb", text) for name, text in notebooks(token).items()},
    }
    assert [name for name, (decision, _) in tries.items() if decision.allowed] == []
    assert all("secret found" in decision.reason and token not in decision.reason for decision, _ in tries.values())
    assert sorted(path.name for path in (desk.workspace / "src").iterdir()) == ["old.ipynb", "old.py"]
    assert token not in desk.kept()


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", TOKENS)
def test_the_gate_finds_it_in_the_diff_however_it_came_there(
    tmp_path: Path, judging: Judging, thorough: Scanner, kind: str
) -> None:
    token = TOKENS[kind]
    files: dict[str, str | bytes] = {
        "src/new.py": f"\nVALUE = '{token}'\n",
        "src/old.py": f"x = 1\ny = '{token}'\n",
        "src/old.ipynb": notebook(f"x = '{token}'"),
        "src/shell.txt": by_shell(tmp_path, token),
        **{f"src/{name}.ipynb": text for name, text in notebooks(token).items()},
    }
    result = Secrets(thorough).check(judging.candidate(files))
    assert verdicts(result) == ["secret_found"]
    assert sorted(result.findings[0].paths) == sorted(files)
    assert token not in result.model_dump_json()


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", E2E)
def test_no_ref_that_is_pushed_ever_holds_it(tmp_path: Path, database_url: str, kind: str) -> None:
    """An agent without hooks and with a shell: the whole way."""
    token = TOKENS[kind]
    yard = Yard(tmp_path, database_url)
    yard.add(story("S-1", command=f"{python()} -c 'import s1'"), budget=1)
    agent = yard.agent(f"""
        token = {json.dumps([token[:4], token[4:]])}
        subprocess.run(["/bin/sh", "-c", "printf 'x = \\"%s\\"\\n' \\"$1\\" > s1.py", "sh", "".join(token)], check=True)
        pathlib.Path("tests/test_s1.py").write_text("def test_REQ_001(): import s1\\n")
    """)
    yard.work(agent)
    item = yard.item("S-1")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "secret_found")
    assert token not in json.dumps(item["last_feedback"])
    yard.db.close()
    for repository in (yard.repo, yard.project.mirror.path, yard.project.mirror.store):
        assert holders(repository, token) == []


def holders(repository: Path, token: str) -> list[str]:
    """The refs whose history holds a text; snapshots stay on this machine and are the only place for it."""
    git = ["git", "-C", str(repository), "-c", "safe.directory=*"]
    named = subprocess.run([*git, "for-each-ref", "--format=%(refname)"], capture_output=True, text=True, check=True)
    refs = [ref for ref in named.stdout.split() if "snapshot" not in ref]
    found = []
    for ref in refs:
        log = subprocess.run([*git, "log", "-p", "--text", ref], capture_output=True)
        found += [ref] if token.encode() in log.stdout else []
    return found


@pytest.mark.req("A10")
def test_false_alarms_on_ordinary_files_are_as_many_as_the_documents_say(thorough: Scanner) -> None:
    files = ordinary_files()
    assert len(files) == 200
    assert len(alarms(files, thorough)) <= FALSE_ALARMS_DOCUMENTED


def test_a_picture_in_a_notebook_is_no_alarm_and_no_burden(quick: Scanner) -> None:
    import random
    import time

    picture = base64.b64encode(random.Random(7).randbytes(1_000_000)).decode()
    text = json.dumps({"cells": [{"cell_type": "code", "source": [], "outputs": [{"data": {"image/png": picture}}]}]})
    lines = new_lines("a.ipynb", None, text.encode())
    assert quick.scan(lines) == []
    begun = time.process_time()
    assert scan(lines, []) == []
    assert time.process_time() - begun < 3, "of the processor's time: how busy the machine is must not decide"


def test_text_that_a_notebook_escapes_is_no_alarm(quick: Scanner) -> None:
    text = notebook("print(\"naïve\\n\", 'C:\\\\Users', '\u00e9', \"https://user:pass@example.org\")\n")
    assert quick.scan(new_lines("a.ipynb", None, text.encode())) == []


def test_the_scanner_has_no_library_to_call_anybody_with() -> None:
    code = (
        "import sys; from damascus.scanning import scan; scan.without_network(); print(len(scan.load_detectors()),"
        "[name for name in ('urllib3', 'http.client', 'ssl') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"{len(DETECTORS)} []"


def _packed(token: str) -> dict[str, bytes]:
    """One layer around a key."""
    text = f"some words\nkey = {token}\nmore\n".encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("deep/inside.txt", text)
    wrapped = base64.encodebytes(text * 3)
    return {
        "src/a.gz": gzip.compress(text),
        "src/a.zip": archive.getvalue(),
        "src/a.whl": b"#!/usr/bin/env python3\n" + archive.getvalue(),
        "src/wrapped.txt": wrapped,
        "src/wrapped.py": b"DATA = (\n" + b"".join(b'    "' + line + b'"\n' for line in wrapped.splitlines()) + b")\n",
        f"src/{token}.txt": b"x",
        f"src/{token}/empty": b"",
    }


@pytest.mark.req("A10")
def test_a_key_in_a_name_or_in_one_layer_of_packing_is_found(judging: Judging, thorough: Scanner) -> None:
    token = next(token for name, token in TOKENS.items() if name.startswith("GitHub classic"))
    for path, data in _packed(token).items():
        candidate = judging.candidate({path: data}, scope=("src/",))
        assert verdicts(Secrets(thorough).check(candidate)) == ["secret_found"], path
    words = "plain words, nothing to hide. " * 9
    for path, data in _packed(words[:40].replace(" ", "-")).items():
        candidate = judging.candidate({path: data}, scope=("src/",))
        assert verdicts(Secrets(thorough).check(candidate)) == [], path


@pytest.mark.req("A10")
def test_what_unpacks_beyond_measure_has_not_passed(judging: Judging, thorough: Scanner) -> None:
    candidate = judging.candidate({"src/bomb.gz": gzip.compress(b"\0" * 30_000_000)}, scope=("src/",))
    [finding] = Secrets(thorough).check(candidate).findings
    assert "unpacks to more" in finding.message
    broken = {"src/a.gz": b"\x1f\x8bnot gzip", "src/b.zip": b"PK\x03\x04not a zip"}
    assert verdicts(Secrets(thorough).check(judging.candidate(broken, scope=("src/",)))) == []


DIGESTS = """
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
EXPECTED = {
    "token": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "b64": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
}
password_hash = "5e884898da28047151d0e56f8dc6292773603d0d6aabbd62a11ef721d1542d8d"
secret_md5 = "5ebe2294ecd0e0f08eab7690d2a6ee69"
TOKEN_DIGEST = "sQqNsWTgdUEFt6mb5y4/5Q=="
assert commit == "8843d7f92416211de9ebb963ff4ce28125932878"
"""


@pytest.mark.req("A10")
def test_digests_as_constants_are_no_secrets(judging: Judging, thorough: Scanner) -> None:
    lines = [line for line in DIGESTS.splitlines() if '"token"' not in line]
    candidate = judging.candidate({"src/digests.py": "\n".join(lines)}, scope=("src/",))
    assert Secrets(thorough).check(candidate).findings == []


@pytest.mark.req("A10")
@pytest.mark.parametrize(
    "line",
    [
        'api_key = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        'ENCRYPTION_SECRET = "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="',
        'hash_secret = "Zq8!kf92Lmx04Tz7wQ1s"',
    ],
)
def test_what_sounds_secret_is_one_whatever_its_size(judging: Judging, thorough: Scanner, line: str) -> None:
    candidate = judging.candidate({"src/keys.py": line + "\n"}, scope=("src/",))
    assert verdicts(Secrets(thorough).check(candidate)) == ["secret_found"]
