"""Gate secrets: found by kind and place, never told; nothing excuses them; what can't be scanned has not passed."""

import os
import random
import string
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.gates.secrets import Secrets
from damascus.scanning.patterns import PREFIXED
from damascus.scanning.scanner import Scanner
from tests.gates.judging import Judging, verdicts
from tests.waiting import eventually

SOURCES = Path(__file__).parents[2] / "src"


def noise(size: int, letters: str = string.ascii_letters + string.digits) -> str:
    """Random but the same every time; built here so that no file holds it."""
    return "".join(random.Random(size).choices(letters, k=size))


HEX = "0123456789abcdef"
TOKENS = {
    "Anthropic": "sk-ant-" + "api03-" + noise(80),
    "OpenAI": "sk-" + "proj-" + noise(60),
    "OpenAI legacy": "sk-" + noise(20) + "T3Blbk" + "FJ" + noise(20),
    "AWS": "AKIA" + noise(16, string.ascii_uppercase),
    "GitHub": "ghp" + "_" + noise(36),
    "GitHub fine-grained": "github_" + "pat_" + noise(60),
    "GitLab": "glpat" + "-" + noise(20),
    "Stripe": "sk_" + "live_" + noise(24),
    "Stripe test": "sk_" + "test_" + noise(24),
    "Twilio": "SK" + noise(32, HEX),
    "Slack": "xox" + "b-" + "123456789012-" + noise(24),
    "Google": "AIza" + noise(35),
    "npm": "npm" + "_" + noise(36),
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + noise(80),
    "SendGrid": "SG." + noise(22) + "." + noise(43),
    "Hugging Face": "hf" + "_" + noise(34),
    "DigitalOcean": "dop" + "_v1_" + noise(64, HEX),
    "Vault": "hvs" + "." + noise(90),
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "basic auth": "https://joe:" + noise(14) + "@host/",
}


@pytest.fixture(scope="module")
def scanner() -> Iterator[Scanner]:
    scanner = Scanner()
    yield scanner
    scanner.close()


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", TOKENS)
def test_each_kind_is_found_and_never_told(tmp_path: Path, scanner: Scanner, kind: str) -> None:
    candidate = Judging.of(tmp_path).candidate({"src.py": f"\n\nVALUE = '{TOKENS[kind]}'\n"})
    result = Secrets(scanner).check(candidate)
    assert verdicts(result) == ["secret_found"]
    assert "src.py:3" in result.findings[0].message
    assert TOKENS[kind] not in result.model_dump_json()


@pytest.mark.req("A10")
def test_generic_secrets_by_entropy_and_by_name(tmp_path: Path, scanner: Scanner) -> None:
    files = {
        "src.py": f"blob = '{noise(64)}'\n",
        "a.py": f"db_password = '{noise(16)}'\n",
        "tests/.env": f"API_TOKEN={noise(20)}\n",
    }
    result = Secrets(scanner).check(Judging.of(tmp_path).candidate(files))
    assert result.findings[0].paths == ["a.py", "src.py", "tests/.env"]


@pytest.mark.req("A10")
def test_no_comment_excuses_a_secret(tmp_path: Path, scanner: Scanner) -> None:
    line = f"key = '{TOKENS['Anthropic']}'  # pragma: allowlist secret  # nosec  # noqa\n"
    files = {"src.py": "# pragma: allowlist nextline secret\n" + line}
    assert verdicts(Secrets(scanner).check(Judging.of(tmp_path).candidate(files))) == ["secret_found"]


def test_only_new_lines_count(tmp_path: Path, scanner: Scanner) -> None:
    old = f"key = '{TOKENS['Stripe']}'\n"
    judging = Judging.of(tmp_path, {"src.py": old})
    assert Secrets(scanner).check(judging.candidate({"src.py": "# new\n" + old})).findings == []
    assert Secrets(scanner).check(judging.candidate({"src.py": None})).findings == []


@pytest.mark.parametrize(
    "line",
    [
        "AKIAIOSFODNN7" + "EXAMPLE",
        "password = os.environ['DB_PASSWORD']",
        'token = get_token("service-1")',
        "url = 'postgresql://postgres:postgres@localhost/test'",
        "digest = 'sha256-" + noise(43) + "='",
        "sha = '" + noise(40, HEX) + "'",
        "secret = '${VAULT_SECRET_1}'",
        "text = 'aHR0cHM6Ly9leGFtcGxlLm9yZy9wYXRoL3RvL2EvcGFnZQ=='",
    ],
)
def test_what_is_plainly_no_secret_passes(tmp_path: Path, scanner: Scanner, line: str) -> None:
    assert Secrets(scanner).check(Judging.of(tmp_path).candidate({"src.py": line + "\n"})).findings == []


def test_own_sources_and_the_standard_library_make_no_noise(scanner: Scanner) -> None:
    library = sorted(Path(os.__file__).parent.glob("*.py"))[:40]
    files = [*SOURCES.rglob("*.py"), *library]
    lines = [list(enumerate(file.read_text(errors="replace").splitlines(), 1)) for file in files]
    asked = [{"path": str(file), "binary": False, "lines": content} for file, content in zip(files, lines, strict=True)]
    assert scanner.scan(asked) == []  # type: ignore[arg-type]


def test_a_binary_file_is_looked_through_too(tmp_path: Path, scanner: Scanner) -> None:
    utf16 = f"key = {TOKENS['Google']}\n".encode("utf-16")
    assert verdicts(Secrets(scanner).check(Judging.of(tmp_path).candidate({"src.py": utf16}))) == ["secret_found"]


@pytest.mark.req("A10")
def test_a_scan_that_takes_too_long_has_not_passed_and_the_next_one_works(tmp_path: Path) -> None:
    """⚑ A slow expression must not stop the heartbeat: another process, a limit, and fail closed."""
    judging, slow = Judging.of(tmp_path), Scanner(time_limit=0.05)
    candidate = judging.candidate({"src.py": "x = 1\n" * 30_000 + f"k = '{noise(30)}'\n" * 30_000})
    result = Secrets(slow).check(candidate)
    assert verdicts(result) == ["secret_found"] and "0.05 s" in result.findings[0].message
    slow._time_limit = 60
    assert Secrets(slow).check(judging.candidate({"src.py": "x = 1\n"})).findings == []
    slow.close()


def test_a_scanner_that_was_killed_is_replaced(tmp_path: Path) -> None:
    judging, scanner = Judging.of(tmp_path), Scanner()
    scanner.warm()
    child = scanner._child
    assert child is not None
    child.kill()
    child.wait()
    candidate = judging.candidate({"src.py": f"k = '{TOKENS['Google']}'\n"})
    assert verdicts(Secrets(scanner).check(candidate)) == ["secret_found"]
    scanner.close()


def test_the_scanner_ends_with_its_worker() -> None:
    scanner = Scanner()
    scanner.scan([{"path": "a", "binary": False, "lines": [(1, "x")]}])
    child, sock = scanner._child, scanner._sock
    assert child is not None and sock is not None
    sock.close()
    eventually(lambda: child.poll() is not None, what="the scanner's end")


def test_a_very_long_line_takes_linear_time(scanner: Scanner) -> None:
    line = "token=" * 50_000 + "a" * 100_000 + "://" * 30_000
    begun = time.monotonic()
    scanner.scan([{"path": "a.js", "binary": False, "lines": [(1, line)]}])
    assert time.monotonic() - begun < 20


def test_the_documented_number_of_shapes() -> None:
    assert len(PREFIXED) >= 25
