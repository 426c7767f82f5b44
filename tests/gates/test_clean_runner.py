"""The evidence runner: clean checkouts, an allow-listed environment, one run per key."""

import errno
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from damascus.domain.errors import Stopping, TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Job
from damascus.evidence.runner import CleanRunner
from damascus.git.trees import TreeEntry
from damascus.system.sandbox import Level, seats_at
from tests.gates.judging import PYTEST, PYTHON, Judging, archive, leftovers
from tests.levels import need
from tests.waiting import LONG, eventually


@pytest.mark.req("D7")
def test_a_pass_is_run_once_and_a_failure_again(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    assert judging.run("true").green and judging.run("true").green
    assert len(judging.checkouts) == 1
    assert not judging.run("exit 3").green
    assert judging.run("exit 3").exit_code == 3
    assert len(judging.checkouts) == 3


def test_who_asks_while_it_runs_waits_for_the_one_run(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(judging.run, "mkfifo gate; cat gate >/dev/null") for _ in range(4)]
        gate = eventually(lambda: next((tmp_path / "c").glob("*/tree/gate"), None))
        gate.write_text("go")
        results = [future.result() for future in asked]
    assert len(judging.checkouts) == 1 and all(result is results[0] for result in results)


def test_tree_command_environment_and_overlay_are_the_key(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    tree = judging.mirror.tree(judging.base)
    base = Job(tree, "true", 10, "a", tmp_path / "a.log")
    other_tree = judging.mirror.tree(judging.commit({"new": "1"}))
    variants = [
        base,
        Job(other_tree, base.command, 10, "a", base.log),
        Job(tree, base.command + " ", 10, "a", base.log),
        Job(tree, base.command, 10, "a", base.log, env={"A": "1"}),
        Job(tree, base.command, 10, "a", base.log, overlay=archive({"x": "1"})),
    ]
    for job in [*variants, *variants]:
        assert judging.runner.run(job).green
    assert len(judging.checkouts) == len(variants)


def test_what_a_run_leaves_never_meets_the_next_and_the_folder_goes(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    leave = "touch left $HOME/left $TMPDIR/left; mkdir -p ro/in; touch ro/in/f; chmod 500 ro/in ro"
    assert judging.run(leave).green
    assert judging.run('test ! -e left && test -z "$(ls -A $HOME $TMPDIR | grep left)"').green
    assert leftovers(tmp_path) == []


@pytest.mark.req("D7")
def test_an_ignored_pyc_of_the_workspace_is_not_in_a_clean_checkout(tmp_path: Path) -> None:
    """⚑ An ignored .pyc in the agent's folder turned a red test green: only what is committed counts."""
    judging = Judging.of(tmp_path)
    assert judging.run("test -z \"$(find . -name '*.pyc' -o -name __pycache__)\" && test ! -e .git").green


def test_the_environment_holds_only_what_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_CLOUD_KEY", "value")
    monkeypatch.setenv("GIT_DIR", "/somewhere")
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", "postgresql://elsewhere")
    judging = Judging.of(tmp_path)
    output = judging.run("env").output
    names = {line.partition("=")[0] for line in output.splitlines()}
    assert {"PATH", "HOME", "TMPDIR", "PYTEST_ADDOPTS"} <= names
    assert "CI" not in names, "a test must not know by it that it is being judged"
    assert not names & {"MY_CLOUD_KEY", "GIT_DIR", "DAMASCUS_DATABASE_URL"}
    assert {name for name in names if name.startswith("DAMASCUS")} <= {"DAMASCUS_STEP_TOKEN"}


def test_a_socket_fits_into_a_folder_that_a_test_makes(tmp_path: Path) -> None:
    """The data folder may lie deep; pytest's own folders add some sixty characters."""
    deep = tmp_path / ("d" * 60) / ("e" * 40)
    deep.mkdir(parents=True)
    judging = Judging.of(deep)
    bind = "import os, socket; f = os.environ['TMPDIR'] + '/' + 's' * 60; socket.socket(socket.AF_UNIX).bind(f)"
    assert judging.run(f'{PYTHON} -c "{bind}" && ls -l $TMPDIR').green


def test_a_tests_git_finds_no_repository_of_ours_but_its_own(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    os.system(f"git init -q {tmp_path / 'c'}")
    assert judging.run("git rev-parse --git-dir").exit_code == 128
    assert judging.run("mkdir $TMPDIR/r && cd $TMPDIR/r && git init -q && git rev-parse --git-dir").green


def test_the_projects_preparation_reaches_the_checkout_and_its_environment(tmp_path: Path) -> None:
    def prepare(checkout: Path) -> dict[str, str]:
        (checkout / ".env.test").write_text("from the workspace")
        return {"SERVICE": "on"}

    judging = Judging.of(tmp_path)
    judging.runner = CleanRunner(judging.mirror, tmp_path / "c", prepare)
    assert judging.run('test "$SERVICE" = on && grep -q workspace .env.test').green


@pytest.mark.req("W9")
@pytest.mark.parametrize("level", list(Level))
def test_a_judged_command_writes_and_reads_its_own_folder_only(tmp_path: Path, level: Level) -> None:
    """An agent can't escape by writing a test."""
    judging, secret = Judging.of(tmp_path), tmp_path / "key"
    secret.write_text("KEY")
    judging.runner = CleanRunner(judging.mirror, tmp_path / "c", sandbox=need(level))
    assert judging.runner.confinement == level
    own = "touch tree $HOME/h $TMPDIR/t && mkdir -p $GOCACHE && touch $GOCACHE/c"
    assert judging.run(own).green
    run = judging.run(f"echo x > {tmp_path}/planted; cat {secret}; ls {judging.mirror.path}/objects")
    free = level is Level.UNCONFINED
    assert ("KEY" in run.output, (tmp_path / "planted").exists(), run.exit_code == 0) == (free, free, free)


@pytest.mark.req("W9")
def test_the_home_of_set_up_is_readable_at_one_place(tmp_path: Path) -> None:
    judging, home = Judging.of(tmp_path), tmp_path / "home"
    home.mkdir()
    (home / "tool").write_text("#!/bin/sh\necho hi\n")
    (home / "tool").chmod(0o755)
    level = Level(judging.runner.confinement)
    seen = seats_at(level, tmp_path / "c", home).inside(home)
    assert judging.run(f"{seen}/tool").exit_code == (0 if level is Level.UNCONFINED else 127)
    judging.runner = CleanRunner(judging.mirror, tmp_path / "c", home_of=lambda _: home)
    assert judging.run(f"{seen}/tool").green
    if level is not Level.UNCONFINED:
        assert not judging.run(f"rm {seen}/tool").green and (home / "tool").exists()


@pytest.mark.req("X1")
def test_an_overlay_replaces_what_the_candidate_put_there(tmp_path: Path) -> None:
    judging, outside = Judging.of(tmp_path), tmp_path / "outside"
    outside.mkdir()
    link = judging.mirror.write_blob(str(outside).encode())
    commit = judging.commit({"held": TreeEntry("120000", link), "tests": TreeEntry("120000", link)})
    tar = archive({"run": "#!/bin/sh\ntest ! -e escape\n", "../escape": "x", "sub/data": "y"}, executable=("run",))
    for at in ("held", "tests/held"):
        job = Job(judging.mirror.tree(commit), f"./{at}/run", 10, "x", tmp_path / "l", overlay=tar, overlay_at=at)
        assert judging.runner.run(job).green
    assert list(outside.iterdir()) == []


@pytest.mark.req("T1")
def test_what_a_test_prints_or_how_long_it_hangs_is_never_transient(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    printed = judging.run("echo 'HTTP 502 Bad Gateway: could not resolve host, no space left on device'; exit 1")
    assert (printed.exit_code, printed.green) == (1, False)
    begun = time.monotonic()
    hung = judging.run("echo started; sleep 600 & wait", timeout=0.5)
    assert hung.timed_out and not hung.green and "started" in hung.output
    assert time.monotonic() - begun < LONG


def test_stopping_ends_the_run_and_is_not_kept(tmp_path: Path) -> None:
    judging, stop = Judging.of(tmp_path), threading.Event()
    judging.runner = CleanRunner(judging.mirror, tmp_path / "c", stopping=lambda: int(stop.is_set()))
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(judging.run, "touch started; sleep 600") for _ in range(2)]
        eventually(lambda: any((tmp_path / "c").glob("*/tree/started")))
        stop.set()
        for future in asked:
            with pytest.raises(Stopping):
                future.result(timeout=20)
    assert leftovers(tmp_path) == []


class Looking:
    """ports.Probe: does it end?"""

    ended = False

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def end(self, folder: Path) -> None:
        self.ended = True


def test_a_probe_that_has_begun_ends_with_a_run_that_is_stopped(tmp_path: Path) -> None:
    """One that asks a server has a thread, which would keep a worker that stops from ending."""
    judging, stop, probe = Judging.of(tmp_path), threading.Event(), Looking()
    judging.runner = CleanRunner(judging.mirror, tmp_path / "c", stopping=lambda: int(stop.is_set()))
    tree = judging.mirror.tree(judging.base)
    job = Job(tree, "touch started; sleep 600", 60, "job", tmp_path / "log", fresh=True, probe=probe)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(judging.runner.run, job)
        eventually(lambda: any((tmp_path / "c").glob("*/tree/started")))
        stop.set()
        with pytest.raises(Stopping):
            asked.result(timeout=20)
    assert probe.ended


def test_a_full_disk_is_transient(tmp_path: Path) -> None:
    def prepare(checkout: Path) -> dict[str, str]:
        raise OSError(errno.ENOSPC, "No space left on device")

    judging = Judging.of(tmp_path)
    judging.runner = CleanRunner(judging.mirror, tmp_path / "c", prepare)
    with pytest.raises(TransientError):
        judging.run("true")
    assert leftovers(tmp_path) == []


def test_an_unknown_tree_is_an_error_not_a_result(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    with pytest.raises(Exception, match="git ls-tree"):
        judging.run("true", tree=Sha("1" * 40))


@pytest.mark.req("D7")
def test_pytest_is_counted_by_its_own_report(tmp_path: Path) -> None:
    tests = (
        "import pytest, unittest\n"
        "def test_a(): assert 1 + len('')\n"
        "def test_b(): assert len('')\n"
        "@pytest.mark.skip\ndef test_c(): pass\n"
        "@pytest.mark.xfail\ndef test_d(): assert len('')\n"
        "class TestK:\n    @pytest.mark.parametrize('x', [1, 2])\n    def test_e(self, x): assert x\n"
    )
    judging = Judging.of(tmp_path, {"tests/test_a.py": tests, "tests/test_z.py": "import nowhere\n"})
    run = judging.run(PYTEST + " --continue-on-collection-errors")
    assert (run.counted, run.passed, run.failed, run.skipped) == (True, 3, 2, 2)
    states = {case.id: case.status for case in run.cases}
    assert states == {
        "tests/test_a.py::test_a": "passed",
        "tests/test_a.py::test_b": "failed",
        "tests/test_a.py::test_c": "skipped",
        "tests/test_a.py::test_d": "xfailed",
        "tests/test_a.py::TestK::test_e[1]": "passed",
        "tests/test_a.py::TestK::test_e[2]": "passed",
        "tests/test_z.py": "error",
    }


def test_files_are_found_where_pytest_ran_in_a_folder_below(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"back/pytest.ini": "[pytest]\n", "back/tests/test_a.py": "def test_a(): pass\n"})
    run = judging.run(f"cd back && {PYTEST}")
    assert [case.id for case in run.cases] == ["back/tests/test_a.py::test_a"]


@pytest.mark.parametrize("flag", ["", "-E "], ids=["by its report", "by what it prints"])
def test_unittest_names_what_failed_by_its_file(tmp_path: Path, flag: str) -> None:
    source = (
        "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.fail('x')\n"
        "    def test_b(self): pass\n    @unittest.skip('later')\n    def test_c(self): pass\n"
    )
    judging = Judging.of(tmp_path, {"tests/test_u.py": source, "tests/test_v.py": "import nowhere\n"})
    run = judging.run(f"{PYTHON} {flag}-m unittest discover -s tests")
    assert (run.passed, run.failed, run.skipped) == (1, 2, 1)
    others = {"tests/test_u.py::A::test_b": "passed", "tests/test_u.py::A::test_c": "skipped"}
    assert {case.id: case.status for case in run.cases} == {
        "tests/test_u.py::A::test_a": "failed",
        "tests/test_v.py": "error",
        **({} if flag else others),
    }


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "source",
    [
        "",
        "import unittest\nclass A(unittest.TestCase):\n    @unittest.skip('x')\n    def test_a(self): pass\n",
    ],
    ids=["no tests", "all skipped"],
)
def test_unittest_that_exits_0_with_nothing_run_is_not_green(tmp_path: Path, source: str) -> None:
    """⚑ Python 3.11's unittest exits 0 with no tests and with all skipped."""
    judging = Judging.of(tmp_path, {"tests/test_u.py": source or "\n"})
    run = judging.run(f"{PYTHON} -m unittest discover -s tests; exit 0")
    assert (run.exit_code, run.counted, run.passed, run.green) == (0, True, 0, False)


def test_a_summary_that_a_test_prints_does_not_replace_the_real_one(tmp_path: Path) -> None:
    source = "import atexit\natexit.register(print, 'Ran 5 tests in 0.001s\\n\\nOK')\n"
    judging = Judging.of(tmp_path, {"tests/test_u.py": source})
    run = judging.run(f"{PYTHON} -m unittest discover -s tests; exit 0")
    assert "Ran 5 tests" in run.output and not run.green


@pytest.mark.req("D7")
def test_a_report_forged_by_the_code_under_test_is_seen_by_the_summary(tmp_path: Path) -> None:
    forge = (
        "import atexit, os, re\n"
        "def forge():\n"
        "    path = re.search(r'--junitxml=(\\S+)', os.environ['PYTEST_ADDOPTS'])[1]\n"
        "    open(path, 'w').write('<testsuites><testsuite><testcase classname=\"tests.test_a\" name=\"test_a\" '\n"
        "                          'file=\"tests/test_a.py\"/></testsuite></testsuites>')\n"
        "    os._exit(0)\n"
        "atexit.register(forge)\n"
        "def test_a(): assert len('')\n"
    )
    judging = Judging.of(tmp_path, {"tests/test_a.py": forge})
    run = judging.run(PYTEST)
    assert run.exit_code == 0 and run.counted and not run.green
    assert "differ" in run.cases[0].id


@pytest.mark.slow
def test_the_overhead_of_a_clean_run_is_small(tmp_path: Path) -> None:
    """The processor's time, our own and that of the git which we start: how busy the machine is must not decide."""
    judging, seconds = Judging.of(tmp_path), []
    for n in range(12):
        begun = sum(os.times()[:4])
        judging.run(f"true {n}")
        seconds.append(sum(os.times()[:4]) - begun)
    assert sorted(seconds)[3] < 0.1, f"{sorted(seconds)}"
