"""Takes items from workers that are gone: at once for a dead process of this host, else when the lease ran out.

A lease that ran out while the database was down or hung, the laptop was closed or the clock jumped proves nothing:
then rescue waits one lease time, in which a living worker renews. So it does after its own start: what happened just
before, it can't know.
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
        self._wait_until = time.monotonic() + lease.total_seconds()

    def rescue(self) -> int:
        began = time.monotonic()
        found = leases.current(self.db, self.lease)
        patient = self._must_wait(began)
        saved = 0
        for lease in found:
            if self._is_dead(lease):
                saved += leases.rescue(self.db, lease, "its process on this host is dead") is not None
            elif lease.expired and not patient and lease.worker_id != self.me:
                saved += leases.rescue(self.db, lease, "its lease ran out", if_expired=True) is not None
        return saved

    def _is_dead(self, lease: leases.Lease) -> bool:
        same_host = host_of(lease.worker_id) == host_of(self.me)
        return lease.worker_id != self.me and same_host and is_dead(self.locks, lease.worker_id)

    def _must_wait(self, began: float) -> bool:
        """Did the database's clock run away from ours, did it keep us waiting, or were we away ourselves?"""
        row = self.db.run(lambda c: c.execute("SELECT extract(epoch FROM clock_timestamp())::float8 AS t").fetchone())
        assert row is not None
        here, there = time.monotonic(), float(row["t"])
        known = self._seen or (here, there)
        jumped = (there - known[1]) - (here - known[0]) > JUMP
        away = here - began > JUMP or here - known[0] > self.lease.total_seconds() + JUMP
        if jumped or away:
            self._wait_until = here + self.lease.total_seconds()
        self._seen = (here, there)
        return here < self._wait_until
