"""Passes that outlive the process: what they are keyed by, what is never kept, and what one costs."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from damascus.domain.ports import Job, TestRun
from damascus.evidence import keeping as module
from damascus.evidence import toolchain
from damascus.evidence.keeping import Keeping, secret_of
from damascus.evidence.runner import CleanRunner
from damascus.gates.runs import evidence
from damascus.git.made import LaidBySetup
from damascus.store.db import Database
from damascus.store.evidence import KeptEvidence
from damascus.system.sandbox import Level, detect
from tests.gates.judging import PYTEST, Judging, archive
from tests.levels import need
from tests.store.lane import Lane
from tests.waiting import eventually


@dataclass
class Host:
    """A process of its own: a new runner each time, beside one database."""

    judging: Judging
    db: Database
    folder: Path
    repo: int
    secret: bytes = b"s"
    laid: LaidBySetup | None = field(default_factory=lambda: LaidBySetup("", {}))
    level: Level | None = None
    runs: int = 0

    def runner(self) -> CleanRunner:
        def prepare(checkout: Path) -> dict[str, str]:
            self.runs += 1
            return {}

        keeping = Keeping(
            KeptEvidence(self.db, self.repo), self.secret, lambda: self.level or detect(), lambda: self.laid
        )
        return CleanRunner(self.judging.mirror, self.folder / "c", prepare, sandbox=self.level, keeping=keeping)

    def job(self, command: str = "echo said", **more: object) -> Job:
        tree = self.judging.mirror.tree(self.judging.base)
        return Job(tree, command, 60, "job", self.folder / "logs" / "job.log", **more)  # type: ignore[arg-type]

    def asked_anew(self, job: Job) -> tuple[TestRun, int]:
        """By a process that remembers nothing; and how many runs it made."""
        before = self.runs
        return self.runner().run(job), self.runs - before

    def rows(self) -> list[dict[str, object]]:
        return self.db.run(lambda c: c.execute("SELECT * FROM evidence").fetchall())


@pytest.fixture
def host(tmp_path: Path, db: Database) -> Host:
    if detect() is Level.UNCONFINED:
        need(Level.BUBBLEWRAP)
    return Host(Judging.of(tmp_path), db, tmp_path, Lane(db).project.repo_id)


@pytest.mark.req("D7.3")
def test_a_pass_is_found_by_another_process_with_its_cases_and_a_log(host: Host) -> None:
    job = host.job(f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTEST}")
    first, made = host.asked_anew(job)
    assert (made, first.green, first.passed) == (1, True, 1)
    job.log.unlink()
    again, made = host.asked_anew(job)
    assert made == 0 and again == first.model_copy(update={"kept": True}) and not first.kept
    assert (evidence("tests", again).kept, evidence("tests", first).kept) == (True, False)
    assert "not run again" in job.log.read_text() and "1 passed" in job.log.read_text()


def test_a_failure_runs_again(host: Host) -> None:
    job = host.job("echo bad; exit 3")
    assert [host.asked_anew(job)[1] for _ in range(2)] == [1, 1]
    assert host.rows() == []


VARIANTS = {
    "command": {"command": "echo said "},
    "a variable": {"env": {"A": "1"}},
    "another value": {"env": {"A": "2"}},
    "a file laid over it": {"files": {"x": b"1"}},
    "another content": {"files": {"x": b"2"}},
    "a file taken away": {"files": {"README.md": None}},
    "an upstream": {"upstreams": {"DAMASCUS_UPSTREAM_LIB": Path("a" * 40)}},
    "another commit of it": {"upstreams": {"DAMASCUS_UPSTREAM_LIB": Path("b" * 40)}},
}


@pytest.mark.req("D7.3")
def test_whatever_a_command_can_see_is_part_of_the_key(host: Host, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / (name * 40)).mkdir()

    def job(more: dict[str, object]) -> Job:
        needed = {key: tmp_path / path for key, path in more.get("upstreams", {}).items()}  # type: ignore[attr-defined]
        return host.job(**more | {"upstreams": needed})  # type: ignore[arg-type]

    jobs = {"": host.job(), **{name: job(more) for name, more in VARIANTS.items()}}
    assert {name: host.asked_anew(each)[1] for name, each in jobs.items()} == dict.fromkeys(jobs, 1)
    assert {name: host.asked_anew(each)[1] for name, each in jobs.items()} == dict.fromkeys(jobs, 0)


@pytest.mark.req("D7.3")
def test_set_up_secret_tools_gate_version_and_inherited_variables_too(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, passed_on = host.job(), host.job(env={"KEY": "value"})
    assert (host.asked_anew(job)[1], host.asked_anew(passed_on)[1]) == (1, 1)
    host.laid = LaidBySetup("made otherwise", {})
    assert host.asked_anew(job)[1] == 1
    host.laid = LaidBySetup("made otherwise", {".env.test": b"K=1"})
    assert host.asked_anew(job)[1] == 1
    host.laid = LaidBySetup("", {})
    host.secret = b"of another data folder"
    assert (host.asked_anew(job)[1], host.asked_anew(passed_on)[1]) == (0, 1)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert host.asked_anew(job)[1] == 1
    monkeypatch.setattr(module, "gate_version", lambda: "of the next release")
    assert host.asked_anew(job)[1] == 1
    monkeypatch.setattr(module, "tools_for", lambda command: "node 99")
    assert host.asked_anew(job)[1] == 1


@pytest.mark.req("D7.3")
@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
def test_a_pass_under_one_sandbox_is_none_under_another(host: Host, level: Level) -> None:
    host.level = need(level)
    assert host.asked_anew(host.job())[1] == 1
    host.level = Level.UNCONFINED
    assert [host.asked_anew(host.job())[1] for _ in range(2)] == [1, 1], "unconfined, nothing is kept"


@pytest.mark.req("D7.3")
def test_what_has_no_key_is_never_kept(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host.asked_anew(host.job(fresh=True))
    host.asked_anew(host.job(overlay=archive({"t": "1"}), overlay_at="held"))
    (tmp_path / "somewhere").mkdir()
    host.asked_anew(host.job(upstreams={"DAMASCUS_UPSTREAM_LIB": tmp_path / "somewhere"}))
    host.laid = None
    host.asked_anew(host.job())
    host.laid = LaidBySetup("", {})
    monkeypatch.setattr(toolchain, "_said", lambda call: None)
    monkeypatch.setattr(toolchain, "ANSWERS", toolchain.Answers())
    host.asked_anew(host.job())
    assert (host.runs, host.rows()) == (5, [])


def test_a_job_that_must_be_run_in_earnest_takes_nothing_that_is_kept(host: Host) -> None:
    host.asked_anew(host.job())
    assert host.asked_anew(host.job(fresh=True))[1] == 1


def test_what_moved_while_it_ran_is_not_kept(host: Host) -> None:
    runner, job = host.runner(), host.job("mkfifo f; cat f")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(runner.run, job)
        fifo = eventually(lambda: next((host.folder / "c").glob("*/tree/f"), None))
        host.laid = LaidBySetup("main has moved, set-up made something else", {})
        fifo.write_text("go")
        assert asked.result().green
    assert host.rows() == []


@pytest.mark.req("D7.3")
def test_the_value_of_a_variable_is_nowhere_in_the_table(host: Host) -> None:
    value = "hunter2-hunter2"
    host.asked_anew(host.job(env={"PASS": value}))
    host.asked_anew(host.job("echo $PASS", env={"PASS": value}))
    assert len(host.rows()) == 2 and value not in str(host.rows())
    assert hashlib.sha256(value.encode()).hexdigest() not in str(host.rows())


def test_a_report_that_names_a_value_is_not_kept(tmp_path: Path, host: Host) -> None:
    test = "import os, pytest\n@pytest.mark.parametrize('v', [os.environ['PASS']])\ndef test_a(v): assert v\n"
    tree = host.judging.mirror.tree(host.judging.commit({"tests/test_v.py": test}))
    job = replace(host.job(f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTEST}", env={"PASS": "hunter2-hunter2"}), tree=tree)
    assert host.asked_anew(job)[0].green and host.rows() == []


@pytest.mark.req("D7.3")
@pytest.mark.parametrize(
    "forged",
    ["""'{"green": true}'""", """'{"exit_code": 0, "timed_out": false}'""",
     """jsonb_set(result, '{tree}', '"0000"')""", """jsonb_set(result, '{counted}', 'true')"""],
    ids=["another shape", "half a shape", "of another tree", "nothing passed"],
)  # fmt: skip
def test_a_row_that_is_no_pass_of_this_key_is_not_believed(host: Host, forged: str) -> None:
    host.asked_anew(host.job())
    host.db.run(lambda c: c.execute("ALTER TABLE evidence DROP CONSTRAINT evidence_is_a_pass"))
    host.db.run(lambda c: c.execute(f"UPDATE evidence SET result = {forged}".encode()))
    assert host.asked_anew(host.job())[1] == 1


def test_a_pass_that_took_longer_than_this_job_may_is_none(host: Host) -> None:
    host.asked_anew(host.job())
    host.db.run(lambda c: c.execute("UPDATE evidence SET result = jsonb_set(result, '{seconds}', '61')"))
    assert host.asked_anew(host.job())[1] == 1


def test_one_question_before_a_run_and_one_row_after(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for name in ("one", "do", "all", "run"):
        own = getattr(Database, name)

        def counted(self: Database, *args: object, own: object = own, name: str = name, **more: object) -> object:
            asked.append(str(args[0]) if name != "run" else "")
            return own(self, *args, **more)  # type: ignore[operator]

        monkeypatch.setattr(Database, name, counted)
    runner = host.runner()
    asked.clear()
    runner.run(host.job())
    runner.run(host.job())
    assert [name for name in asked if name] == ["evidence_find", "evidence_keep"] and len(asked) == 4


def test_the_secret_of_a_data_folder_is_made_once_and_private(tmp_path: Path) -> None:
    secret = secret_of(tmp_path)
    assert secret_of(tmp_path) == secret and len(secret) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["evidence.key"]
    assert (tmp_path / "evidence.key").stat().st_mode & 0o777 == 0o600


def test_a_new_package_beside_a_python_is_another_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    python = tmp_path / "v/bin/python"
    before = toolchain.tools_for(f"{python} -m pytest")
    [site] = (tmp_path / "v/lib").glob("python*/site-packages")
    (site / "left_pad-1.0.dist-info").mkdir()
    monkeypatch.setattr(toolchain, "ANSWERS", toolchain.Answers())
    after = toolchain.tools_for(f"{python} -m pytest")
    assert before and after and before != after and "left_pad" in after


def test_the_runners_own_reports_stay_with_the_log_capped_and_masked(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "import os\ndef test_a(): print('the value is', os.environ['PASS'])\n"
    tree = host.judging.mirror.tree(host.judging.commit({"tests/test_v.py": test}))
    command = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTEST} -o junit_logging=all"
    job = replace(host.job(command, env={"PASS": "hunter2-hunter2"}), tree=tree)
    assert host.asked_anew(job)[0].green
    [report] = (host.folder / "logs" / "job.reports").glob("*.xml")
    assert "test_a" in report.read_text() and "the value is" in report.read_text()
    assert "hunter2" not in report.read_text() and report.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("damascus.evidence.results.KEPT_REPORTS", 100)
    host.runner().run(replace(job, command=f"{command} "))
    assert sum(path.stat().st_size for path in (host.folder / "logs" / "job.reports").iterdir()) <= 110
