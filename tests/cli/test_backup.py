"""`damascus db backup` and `damascus db restore`: a whole installation in a file, and whole again or not there."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from damascus.app import UNFINISHED, App
from damascus.domain.errors import DamascusError
from damascus.people import backing_up, restoring
from damascus.people.backup_file import Header, written
from damascus.store.migrate import migrations
from tests.cli.conftest import Cli
from tests.databases import empty_database
from tests.waiting import eventually
from tests.yard import HONEST, Yard, story


def quiet(line: str) -> None:
    """Nobody looks at the progress."""


@dataclass
class Elsewhere:
    """A machine without an installation: an empty data folder and an empty database."""

    home: Path
    url: str

    def app(self) -> App:
        return App({"PATH": os.environ["PATH"], "DAMASCUS_HOME": str(self.home), "DAMASCUS_DATABASE_URL": self.url})


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    with empty_database() as url:
        yield Elsewhere(tmp_path / "elsewhere", url)


@pytest.fixture
def worked(yard: Yard) -> Yard:
    """One story is on main; another was refused for a file out of its scope, and a third waits."""
    yard.add(story("S-1"), story("S-2", requirements={"REQ-001": "x"}), budget=2)
    rejected = HONEST + "if brief['story_id'] == 'S-2': pathlib.Path('other.txt').write_text('out of scope')\n"
    yard.work(yard.agent(rejected))
    assert (yard.item("S-1")["phase"], yard.item("S-2")["phase"]) == ("done", "blocked")
    return yard


@pytest.fixture
def saved(worked: Yard, tmp_path: Path) -> Path:
    file = tmp_path / "saved.backup"
    backing_up.back_up(worked.app, file, quiet)
    return file


@pytest.mark.req("X11.2")
def test_a_restored_installation_shows_restores_and_works_on(
    worked: Yard, cli: Cli, elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> dict[str, str]:
        """The same wherever the data folder is: recorded paths name the old one, today's folder of a story the new."""
        said = {verb: cli(*verb.split()).out for verb in ("status --json", "show S-1 --json", "receipt S-1")}
        return {verb: out.replace(str(elsewhere.home), str(tmp_path / "home")) for verb, out in said.items()}

    before = shown()
    snapshots = cli("rescue", "list", "S-2", "--json").json["snapshots"]
    assert snapshots
    file = tmp_path / "all.backup"
    told = cli("db", "backup", str(file), "--json")
    assert told.code == 0 and told.json["stories"] == 2 and "database:" in told.err
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("*all.backup*")] == ["all.backup"], "nothing is left beside it"

    worked.db.close()
    (tmp_path / "home").rename(tmp_path / "lost")
    monkeypatch.setenv("DAMASCUS_HOME", str(elsewhere.home))
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", elsewhere.url)
    done = cli("db", "restore", str(file))
    assert done.code == 0, done.err
    [command] = [part for part in " ".join(done.out.split()).split(" && ") if "damascus.queue" in part]
    subprocess.run(command.removeprefix("Next: ").split("Next: ")[-1], shell=True, check=True)

    assert shown() == before
    assert cli("rescue", "list", "S-2", "--json").json["snapshots"] == snapshots
    assert cli("rescue", "restore", "S-2", "1", "--to", str(tmp_path / "rescued")).code == 0
    assert (tmp_path / "rescued" / "other.txt").read_text() == "out of scope"
    spec = worked.repo / "S-3.md"
    spec.write_text(story("S-3"))
    assert cli("add", str(spec)).code == 0
    spec.unlink()
    assert cli("run", "--until-idle", "--agent", "command", "--agent-command", worked.agent(HONEST, "after")).code == 1
    items = {item["story_id"]: item["phase"] for item in cli("status", "--json").json["items"]}
    assert items == {"S-1": "done", "S-2": "blocked", "S-3": "done"}


@pytest.mark.req("X11.2")
def test_a_back_up_while_stories_run_is_one_moment_and_goes_on_elsewhere(
    yard: Yard, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    """An agent holds still while it is taken: the story is leased, its workspace written."""
    yard.add(story("S-1"), story("S-2"))
    wait = "while not pathlib.Path(brief['artifacts'], 'go').exists(): time.sleep(0.02)\n"
    worker = yard.worker(yard.agent(wait + HONEST))
    thread = threading.Thread(target=lambda: worker.run(lambda *_: None))
    thread.start()
    eventually(lambda: len(yard.query("SELECT 1 FROM journal WHERE step = 'implement'")) == 2, 60)
    backing_up.back_up(yard.app, tmp_path / "b", quiet)
    for name in ("S-1", "S-2"):
        (yard.project.runs / name / "run-1" / "artifacts" / "go").touch()
    thread.join(60)
    assert yard.item("S-1")["phase"] == "done"

    restoring.restore(elsewhere.app(), tmp_path / "b", quiet)
    app = elsewhere.app()
    rows = app.database.run(lambda c: c.execute("SELECT story_id, phase, state FROM work_items").fetchall())
    assert {(row["phase"], row["state"]) for row in rows} == {("build", "leased")}
    for store in (elsewhere.home / "projects").glob("*/*.git"):
        subprocess.run(["git", "--git-dir", str(store), "fsck", "--strict"], check=True, capture_output=True)
    app.database.close()


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────


def cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def one_byte(data: bytes) -> bytes:
    half = len(data) // 2
    return data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]


def repacked(change: Callable[[str, bytes], bytes | None]) -> Callable[[bytes], bytes]:
    """The same file with other members; None leaves one out."""

    def work(data: bytes) -> bytes:
        target = io.BytesIO()
        with (
            tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as old,
            tarfile.open(fileobj=target, mode="w:gz") as new,
        ):
            for info in old:
                content = old.extractfile(info)
                raw = change(info.name, content.read()) if content is not None else b""
                if raw is not None:
                    info.size = len(raw)
                    new.addfile(info, io.BytesIO(raw))
        return target.getvalue()

    return work


DAMAGED = {
    "cut": (cut, "is cut or altered"),
    "a byte": (one_byte, "altered"),
    "no list": (repacked(lambda name, raw: None if name == "manifest.json" else raw), "is cut: the list at its end"),
    "another file": (repacked(lambda name, raw: b"x" if name.endswith("/HEAD") else raw), r"altered: files/\S+/HEAD"),
    "a file less": (repacked(lambda name, raw: None if name == "database.dump" else raw), "was altered: database.dump"),
    "no back-up": (lambda data: b"PK", "is cut or altered"),
    "nothing": (lambda data: b"", "is cut or altered|is empty"),
}  # fmt: skip


@pytest.mark.req("X11.2")
@pytest.mark.parametrize(("damage", "told"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_cut_or_altered_file_is_refused_by_name_and_nothing_is_made(
    saved: Path, elsewhere: Elsewhere, damage: Callable[[bytes], bytes], told: str
) -> None:
    bad = saved.with_name("bad.backup")
    bad.write_bytes(damage(saved.read_bytes()))
    with pytest.raises(DamascusError, match=told) as caught:
        restoring.restore(elsewhere.app(), bad, quiet)
    assert str(bad) in str(caught.value)
    assert not elsewhere.home.exists()


@pytest.mark.req("X11.2")
def test_a_newer_schema_is_refused_with_a_sentence(elsewhere: Elsewhere, tmp_path: Path) -> None:
    file, newest = tmp_path / "newer", migrations()[-1].version
    with written(file, Header("9.0", newest + 1, "2030-01-01", "/x", "q", [])) as writer:
        writer.text("database.dump", "")
    with pytest.raises(DamascusError, match=rf"schema {newest + 1}, newer than this one \(schema {newest}\). Nothing"):
        restoring.restore(elsewhere.app(), file, quiet)
    assert not elsewhere.home.exists()


def test_nothing_is_ever_overwritten(saved: Path, worked: Yard, elsewhere: Elsewhere, tmp_path: Path) -> None:
    with pytest.raises(DamascusError, match="is not empty, and a restore never overwrites"):
        restoring.restore(worked.app, saved, quiet)
    used = Elsewhere(elsewhere.home, worked.environ["DAMASCUS_DATABASE_URL"])
    with pytest.raises(DamascusError, match="DAMASCUS_DATABASE_URL is not empty"):
        restoring.restore(used.app(), saved, quiet)
    with pytest.raises(DamascusError, match="is there already"):
        backing_up.back_up(worked.app, saved, quiet)
    with pytest.raises(DamascusError, match="is in the data folder"):
        backing_up.back_up(worked.app, worked.app.home / "b", quiet)
    with pytest.raises(DamascusError, match="there is no folder"):
        backing_up.back_up(worked.app, tmp_path / "none" / "b", quiet)
    with pytest.raises(DamascusError, match="is not there"):
        restoring.restore(elsewhere.app(), tmp_path / "none", quiet)


KILLED = """
import os, signal, sys
from pathlib import Path
from damascus.people import restoring
def note(line):
    if sys.argv[2] in line:
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "dump":
    def die(url, dump):
        os.kill(os.getpid(), signal.SIGKILL)
    restoring.restore_from = die
restoring.restore(restoring.app_to_restore(os.environ, Path("/")), Path(sys.argv[1]), note)
"""


@pytest.mark.req("X11.2")
@pytest.mark.parametrize("at", ["files are in", "dump", "database is restored"])
def test_a_restore_that_is_killed_leaves_nothing_that_looks_whole_and_begins_anew(
    saved: Path, elsewhere: Elsewhere, at: str
) -> None:
    env = {**os.environ, **elsewhere.app().environ}
    done = subprocess.run([sys.executable, "-c", KILLED, str(saved), at], env=env, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert (elsewhere.home / UNFINISHED).exists()
    with pytest.raises(DamascusError, match=r"the restore into .* was not finished"):
        _ = elsewhere.app().database
    restoring.restore(elsewhere.app(), saved, quiet)
    app = elsewhere.app()
    assert app.database.one("count_stories") == {"n": 2} and not (elsewhere.home / UNFINISHED).exists()
    app.database.close()


def test_the_embedded_server_is_restored_into_its_own_folder(
    saved: Path, tmp_path: Path, worked: Yard, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "own"))
    monkeypatch.delenv("DAMASCUS_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    done = command("db", "restore", str(saved), "--json")
    assert done.code == 0 and json.loads(done.out)["home"] == str(tmp_path / "own"), done.err
    try:
        app = App({"PATH": os.environ["PATH"], "DAMASCUS_HOME": str(tmp_path / "own")})
        assert app.database.one("count_stories") == {"n": 2}
        assert command("db", "backup", str(tmp_path / "again")).code == 0
        app.database.close()
    finally:
        assert command("db", "stop").code == 0
