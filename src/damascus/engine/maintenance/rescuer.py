"""Takes items from workers that are gone: at once for a dead process of this host, else when the lease ran out.

A lease that ran out while the database was down, the laptop was closed or the clock jumped proves nothing: then
rescue waits one lease time, in which a living worker renews.
"""

import time
from datetime import timedelta
from pathlib import Path

from damascus.store import leases
from damascus.store.db import Database
from damascus.system.hostid import host_of, is_dead

JUMP = 2.0


class Rescuer:
    """Any number of hosts may run it: a lease is deleted by exactly one."""

    def __init__(self, db: Database, locks: Path, worker_id: str, lease: timedelta) -> None:
        self.db = db
        self.locks = locks
        self.me = worker_id
        self.lease = lease
        self._seen: tuple[float, float] | None = None
        self._wait_until = 0.0

    def rescue(self) -> int:
        patient = self._clock_jumped()
        saved = 0
        for lease in leases.current(self.db, self.lease):
            why = self._gone(lease, patient)
            if why and leases.rescue(self.db, lease, why):
                saved += 1
        return saved

    def _gone(self, lease: leases.Lease, patient: bool) -> str | None:
        if lease.worker_id == self.me:
            return None
        if host_of(lease.worker_id) == host_of(self.me) and is_dead(self.locks, lease.worker_id):
            return "its process on this host is dead"
        return "its lease ran out" if lease.expired and not patient else None

    def _clock_jumped(self) -> bool:
        """Did the database's clock run away from ours since the last look? Both are read, neither is trusted."""
        row = self.db.run(lambda c: c.execute("SELECT extract(epoch FROM clock_timestamp())::float8 AS t").fetchone())
        assert row is not None
        here, there = time.monotonic(), float(row["t"])
        if self._seen is not None and (there - self._seen[1]) - (here - self._seen[0]) > JUMP:
            self._wait_until = here + self.lease.total_seconds()
        self._seen = (here, there)
        return here < self._wait_until
