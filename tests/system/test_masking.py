"""Values that are passed on never stand in a log."""

from pathlib import Path

from damascus.system.masking import MASK, mask_file, masked
from tests.yard import CONFIG, HONEST, Yard, story


def test_text_and_file_are_masked(tmp_path: Path) -> None:
    assert masked("a token-1234 b", ["token-1234"]) == f"a {MASK} b"
    assert masked("port 80", ["80"]) == "port 80"
    log = tmp_path / "log"
    log.write_bytes(b"x token-1234-longer y token-1234\n\xff")
    mask_file(log, ["token-1234", "token-1234-longer"])
    assert log.read_bytes() == f"x {MASK} y {MASK}\n".encode() + b"\xff"


def test_a_passed_on_value_is_masked_in_transcript_and_test_log(tmp_path: Path, database_url: str, monkeypatch) -> None:
    monkeypatch.setenv("LICENCE", "very-secret-value")
    yard = Yard(tmp_path, database_url, config=CONFIG + '[workspace]\nenv = ["LICENCE"]\n')
    command = f"echo test sees $LICENCE; {story('S-1').split('```sh')[1].split('```')[0].strip()}"
    yard.add(story("S-1", command=command))
    yard.work(yard.agent(HONEST + "\nprint('agent sees', os.environ['LICENCE'])\n"))
    assert yard.item("S-1")["phase"] == "done", yard.item("S-1")["last_feedback"]
    logs = [path for path in (yard.project.folder / "runs").rglob("*") if path.is_file()]
    texts = {path.name: path.read_bytes() for path in logs}
    assert any(f"agent sees {MASK}".encode() in text for text in texts.values())
    assert any(f"test sees {MASK}".encode() in text for text in texts.values())
    assert not [name for name, text in texts.items() if b"very-secret-value" in text]
    assert not yard.query("SELECT 1 FROM journal WHERE output::text LIKE '%%very-secret-value%%'")
