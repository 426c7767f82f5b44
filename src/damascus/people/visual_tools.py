"""What `doctor` says of `[visual]`: which pages are looked at, and whether this host can take their pictures."""

from collections.abc import Iterator

from damascus.domain.check import Check
from damascus.domain.config import VisualConfig
from damascus.gates.visual.needs import browser, lacking


def examine(config: VisualConfig) -> Iterator[Check]:
    """Nothing to say where no page is named."""
    if not config.pages:
        return
    named = f"{len(config.pages)} pages at {config.viewport}"
    if why := lacking(config):
        then = "no story that touches them passes" if config.required else "every receipt says that nobody looked"
        yield Check("visual", "fail" if config.required else "warn", f"{named}: {then}: {why}")
        return
    served = f"served by {config.serve}" if config.serve else "served as they are"
    yield Check("visual", "ok", f"{named}, {served}, looked at with {browser(config)}")
