"""A failing service on the command line, and the log that `run` prints."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from damascus.engine.services import Reports
from damascus.system.hostid import WorkerLock, new_worker_id
from damascus.system.log_files import log_file
from tests.cli.conftest import Cli
from tests.yard import HONEST, Yard, story

LOADED = "import sys; from damascus.cli.main import main; main(sys.argv[1:]); sys.exit('structlog' in sys.modules)"


@pytest.fixture
def troubled(yard: Yard) -> Iterator[Reports]:
    """A worker of this host, in which one service has failed three times."""
    lock = WorkerLock.hold(yard.app.home / "workers", new_worker_id())
    worker = yard.worker("true")
    worker._register()
    reports = Reports(yard.db, yard.app.home, worker.id, worker.tools.log)
    reports.failed("landed", 3, 120.0, KeyError("9b1c0de"))
    yield reports
    lock.release()


def test_status_and_doctor_name_service_worker_cause_and_log(yard: Yard, cli: Cli, troubled: Reports) -> None:
    host, _, pid, _ = troubled.worker_id.split(":")
    for words in ("status", "doctor"):
        said = " ".join(cli(words).out.split())
        assert said.count(f"landed of process {pid} on {host} has been failing since ") == 1
        assert "(3 times in a row): KeyError: '9b1c0de'. See its log: " in said
        assert str(troubled.file) in said.replace(" ", "") or str(troubled.file) in said
    assert cli("doctor").code == 1
    [worker] = cli("status", "--json").json["workers"]
    assert worker["trouble"]["landed"]["failures"] == 3 and worker["trouble"]["landed"]["since"]


def test_it_is_gone_with_the_first_success(yard: Yard, cli: Cli, troubled: Reports) -> None:
    assert troubled.withdrawn("landed")
    assert "has been failing since" not in cli("status").out + cli("doctor").out
    assert cli("status", "--json").json["workers"][0]["trouble"] is None


def test_a_dead_workers_trouble_is_nobodys(yard: Yard, cli: Cli, troubled: Reports) -> None:
    yard.query("UPDATE workers SET ended_at = now() RETURNING id")
    assert "has been failing since" not in cli("status").out + cli("doctor").out


def test_run_prints_its_log_to_stderr_if_asked(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    agent = ("--agent", "command", "--agent-command", yard.agent(HONEST))
    quiet = cli("run", "--until-idle", *agent)
    assert quiet.code == 0 and '"event"' not in quiet.err + quiet.out
    yard.add(story("S-2"))
    told = cli("run", "--until-idle", "--log-json", *agent)
    lines = [line for line in told.err.splitlines() if line.startswith("{")]
    events = [json.loads(line)["event"] for line in lines]
    assert events[0] == "worker started" and events[-1] == "worker ended" and "landed" in events
    assert '"event"' not in told.out
    [file] = (yard.app.home / "logs").glob("*.jsonl")
    assert file.read_text().splitlines()[-len(lines) :] == lines, "the same lines"


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("status",), ("inbox",)], ids=" ".join)
def test_no_command_but_workers_loads_what_writes_logs(yard: Yard, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], cwd=yard.repo, env=yard.environ, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_log_that_can_not_be_written_stops_no_run(yard: Yard, cli: Cli) -> None:
    log_file(yard.app.home, new_worker_id()).mkdir()
    yard.add(story("S-1"))
    assert cli("run", "--until-idle", "--agent", "command", "--agent-command", yard.agent(HONEST)).code == 0
