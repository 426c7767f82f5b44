"""A bug's traceback is kept in a file, so that it can be reported."""

import os
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

from damascus.store.embedded.database import default_home


def saved_traceback() -> Path:
    """Of the exception that is handled now: in the data folder, else where temporary files go."""
    name = f"bug-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (default_home(os.environ) / "logs", Path(tempfile.gettempdir())):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(traceback.format_exc())
            return folder / name
    return Path("nowhere: no folder could be written")
