"""Which workers live, as far as this host can tell."""

import os
from pathlib import Path

from damascus.app import App
from damascus.store.views import WorkerRow
from damascus.system.hostid import host_name, host_of, is_dead


def locks_folder(app: App) -> Path:
    """Where the workers of this host hold their locks."""
    return app.home / "workers"


def living(app: App, workers: list[WorkerRow]) -> list[WorkerRow]:
    """Those that are not proved dead. Of another host's only its leases tell."""
    if not workers:
        return []

    folder = locks_folder(app)

    def lives(worker: WorkerRow) -> bool:
        if host_of(worker.id) != host_name():
            return worker.renews is not False
        return not is_dead(folder, worker.id) and (bool(worker.renews) or _process_exists(worker.pid))

    return [worker for worker in workers if lives(worker)]


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
