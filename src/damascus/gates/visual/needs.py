"""What pictures need of the host: a Chromium, Pillow, and a sandbox with a loopback of its own."""

import os
import shutil
from importlib.util import find_spec

from damascus.domain.config import VisualConfig
from damascus.system.installing import install
from damascus.system.sandbox import Level, detect

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser(config: VisualConfig) -> str:
    """Its program, or "" where there is none."""
    found = (shutil.which(os.path.expanduser(name)) for name in ([config.browser] if config.browser else BROWSERS))
    return next((os.path.abspath(path) for path in found if path), "")


def can_compare() -> bool:
    return find_spec("PIL") is not None


def lacking(config: VisualConfig) -> str:
    """What is not here, and how it is had; "" where nothing is lacking."""
    if not browser(config):
        named = config.browser or "Chromium"
        return f"{named} is not here. Install it (Debian: apt install chromium), or name it: browser under [visual]"
    if not can_compare():
        return f"Pillow is not installed. Install it: {install('visual')}"
    if detect() is Level.LANDLOCK:
        return "no page can be served under Landlock. Install bubblewrap (docs/sandbox.md)"
    return ""
