"""What `doctor` says of traces: can they be sent from here?"""

from collections.abc import Iterator

from damascus.app import App
from damascus.domain.check import Check
from damascus.engine.maintenance.outward import COLLECTOR
from damascus.engine.maintenance.tracer import lacking


def examine(app: App) -> Iterator[Check]:
    """Nothing to say where no collector is named."""
    named = next((name for name in COLLECTOR if app.environ.get(name)), "")
    if not named:
        return
    if why := lacking():
        yield Check("traces", "fail", f"{named} is set, but {why}")
    else:
        yield Check("traces", "ok", f"a trace of each story goes to the collector that {named} names")
