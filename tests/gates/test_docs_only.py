"""Gate scope, of a story of kind docs: words may change, code may not."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.verdict import Kind
from damascus.gates.scope import ScopeGate
from tests.gates.judging import BASE, Judging, verdicts

PYTHON = 'LIMIT = 3\n\n\ndef half(n):\n    """Half of it."""\n    return n / 2  # not whole\n'
NODE = "// halves\nexport const half = (n) => n / 2;\n"
GO = "package half\n\n// Half halves.\nfunc Half(n int) int { return n / 2 }\n"
RUST = "/// Halves.\npub fn half(n: i32) -> i32 { n / 2 }\n"
FILES = {"half.py": PYTHON, "half.mjs": NODE, "half.go": GO, "half.rs": RUST}


def judged(folder: Path, files: dict[str, str | None], kind: Kind = Kind.DOCS) -> list[str]:
    judging = Judging.of(folder, BASE | FILES)
    candidate = judging.candidate(files, scope=("**",))
    result = ScopeGate(judging.mirror).check(replace(candidate, spec=replace(candidate.spec, kind=kind)))
    assert verdicts(result) in ([], ["scope_violation"])
    return result.findings[0].paths if result.findings else []


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "words\n", "docs/conf.py": "x = 1\n", "examples/one.py": "print(1)\n"},
        {"half.py": PYTHON.replace("Half of it.", "Half of `n`, as a float.").replace("not whole", "a float")},
        {"half.mjs": NODE.replace("// halves", "/** Halves. */")},
        {"half.go": GO.replace("Half halves.", "Half is n / 2, rounded\n// towards zero.")},
        {"half.rs": RUST.replace("/// Halves.", "//! All.\n/// Half of it.")},
        {"tests/test_new.py": "def test_it():\n    assert True\n"},
    ],
    ids=["documents", "python", "node", "go", "rust", "a test"],
)
def test_words_may_change(tmp_path: Path, files: dict[str, str | None]) -> None:
    assert judged(tmp_path, files) == []


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    "files",
    [
        {"half.py": PYTHON.replace("n / 2", "n // 2")},
        {"half.py": PYTHON.replace("LIMIT = 3", "LIMIT = 4")},
        {"half.py": PYTHON + "\n\ndef more():\n    return 1\n"},
        {"half.py": "def half(:\n"},
        {"half.mjs": NODE.replace("n / 2", "n / 3")},
        {"half.go": GO.replace("n / 2", "n / 3")},
        {"half.rs": RUST.replace("n / 2", "n / 3")},
        {"new.py": "x = 1\n"},
        {"half.py": None},
    ],
    ids=["python", "a number", "a function", "broken", "node", "go", "rust", "a new file", "deleted"],
)
def test_code_may_not_and_is_named(tmp_path: Path, files: dict[str, str | None]) -> None:
    assert judged(tmp_path, files) == list(files)
    assert judged(tmp_path / "again", files, Kind.REFACTOR) == []
