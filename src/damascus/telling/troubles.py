"""What fails again and again in the background of a worker, in one line for people."""

from collections.abc import Iterable
from datetime import datetime

from damascus.store.views import WorkerRow
from damascus.telling import phrases


def told(workers: Iterable[WorkerRow]) -> list[str]:
    """Which service of which worker, since when, why, and where to look."""
    now = datetime.now().astimezone()
    return [
        f"{each.service} of {phrases.worker(worker.id)} has been failing since {phrases.clock(each.since, now)} "
        f"({phrases.plural(each.failures, 'time')} in a row): {phrases.one_line(each.cause).rstrip('.')}. "
        f"See its log: {each.log}"
        for worker in workers
        for each in worker.troubles
    ]
