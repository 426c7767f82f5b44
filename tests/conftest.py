"""What every test may use: `database_url` and `db`, a migrated database of its own on a real PostgreSQL."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

import damascus.toolset
from damascus.store.db import Database
from tests import databases, matrices
from tests.lasting_scanners import OneOfEach
from tests.real_forge import gitea_alone, older_gitea, radicle, real_gitea  # noqa: F401  fixtures for every test

pytest_addoption = matrices.pytest_addoption
pytest_report_header = matrices.pytest_report_header
pytest_terminal_summary = matrices.pytest_terminal_summary
pytest_collection_modifyitems = matrices.pytest_collection_modifyitems
KEPT = (databases.FOLDER, "DAMASCUS_FORGE_DIR", "DAMASCUS_MUTATION_DIR", "DAMASCUS_LLVM_DIR")
AS_ANOTHER_USER = "run as a normal user"
OWNED = pytest.StashKey[databases.OwnedFolder]()


def pytest_configure(config: pytest.Config) -> None:
    """The suite must not see a data folder, database or git repository of whoever runs it."""
    sys.dont_write_bytecode = False  # whoever runs the suite may forbid it; to rewrite each assertion anew takes 10 s
    for name in list(os.environ):
        if name.startswith(("DAMASCUS_", "GIT_", "PG")) and name not in KEPT:
            del os.environ[name]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts into the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    matrices.pytest_configure(config)
    if not hasattr(config, "workerinput"):
        config.stash[OWNED] = databases.OwnedFolder()
        # In memory too, and gone with each test that passed: a disk slows down by what was just deleted on it.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(databases.places()[0]))


def pytest_unconfigure(config: pytest.Config) -> None:
    if owned := config.stash.get(OWNED, None):
        owned.close()


@pytest.fixture(scope="session", autouse=True)
def lasting_scanners() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(damascus.toolset, "Scanner", OneOfEach())
        yield


@pytest.fixture
def database_url() -> Iterator[str]:
    with databases.fresh_database() as url:
        yield url


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """CI has every component, so a skip there hides a hole: it fails. Only who it runs as is not its choice."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    skipped = [report for report in skipped if AS_ANOTHER_USER not in str(report.longrepr)]
    if os.environ.get("CI") and skipped and not hasattr(session.config, "workerinput"):
        for report in skipped:
            reporter.write_line(f"skipped on CI: {report.nodeid}: {report.longrepr}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
