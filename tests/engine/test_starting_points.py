"""Where an attempt starts: a further try keeps its base, a person's retry sees main as it is now, a new spec is new."""

from pathlib import Path

import pytest

from damascus.store import people
from tests.yard import HONEST, Yard, story

NEEDS_MAIN = """
pathlib.Path("seen.log").write_text(pathlib.Path("calc.py").read_text())
name = brief["file_scope"][0].removesuffix(".py")
print("calc:", pathlib.Path("calc.py").read_text())
if "mended" in pathlib.Path("calc.py").read_text():
    exec(pathlib.Path(sys.argv[1]).read_text())
else:
    pathlib.Path(f"{name}.py").write_text("partial work\\n")
    sys.exit(3)
"""


def _agent(yard: Yard) -> str:
    body = yard.folder / "honest.body"
    body.write_text(HONEST)
    text = NEEDS_MAIN.replace('pathlib.Path("seen.log")', 'pathlib.Path(os.environ["HOME"], "seen.log")')
    return f"{yard.agent(text)} {body}"  # what the command's own words name is readable in the sandbox


@pytest.mark.req("D15", "D13")
def test_a_persons_retry_starts_from_main_as_it_is_now(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.add(story("S-1"), budget=1)
    agent = _agent(yard)
    yard.work(agent)
    assert yard.item("S-1")["phase"] == "blocked"
    yard.commit({"calc.py": "def one():\n    return 1  # mended\n"}, "mended by a person")
    people.retry(yard.db, yard.row.id, "S-1", "main is mended")
    yard.work(agent)
    assert yard.item("S-1")["phase"] == "done", yard.item("S-1")["last_feedback"]
    assert "mended" in (yard.on_main("calc.py") or "")


@pytest.mark.req("D13")
def test_a_replaced_spec_starts_without_the_old_work(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.add(story("S-1"), budget=1)
    yard.work(yard.agent("pathlib.Path('s1.py').write_text('old\\n'); sys.exit(3)", "failing"))
    assert yard.item("S-1")["phase"] == "blocked"
    yard.add(story("S-1", title="another"), budget=1)
    yard.work(yard.agent("assert not pathlib.Path('s1.py').exists()\n" + HONEST))
    assert yard.item("S-1")["phase"] == "done", yard.item("S-1")["last_feedback"]


@pytest.mark.req("X1")
def test_the_held_out_log_is_not_among_the_artifacts(tmp_path: Path, database_url: str) -> None:
    import io
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        text = b"from s1 import value\n\n\ndef test_hidden_REQ_001():\n    assert value() == 43\n"
        info = tarfile.TarInfo("test_hidden.py")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    yard = Yard(tmp_path, database_url)
    yard.add(story("S-1"), acceptance=buffer.getvalue(), budget=1)
    yard.work(yard.agent(HONEST))
    row = yard.item("S-1")
    assert row["last_verdict"] == "acceptance_failed"
    assert row["last_feedback"]["requirements"] == ["REQ-001"]
    assert "hidden" not in str(row["last_feedback"])
    told = [path for path in (yard.project.folder / "runs").rglob("*") if path.is_file()]
    assert told
    assert not [path for path in told if b"test_hidden" in path.read_bytes()]
