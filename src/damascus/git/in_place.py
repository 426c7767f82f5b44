"""Set-up at a checkout's own path, for where no mount can give every checkout the same one.

The candidate's files stand aside while the base's are set up at that path, so what is recorded there means this very
checkout, and nothing of a candidate runs with the network. Whoever is killed in between leaves the files aside, and
`Workspaces.whole` puts them back.
"""

from collections.abc import Callable
from pathlib import Path

from damascus.git.made import entries, keep_only, lay, made_in
from damascus.git.workspaces import aside_of, put_back


def set_up_in(checkout: Path, base_into: Callable[[Path], None], command: Callable[[Path], None]) -> None:
    """`base_into` fills a folder with the base's files, `command` sets it up there."""
    aside = aside_of(checkout)
    checkout.rename(aside)
    try:
        checkout.mkdir()
        base_into(checkout)
        before = entries(checkout)
        command(checkout)
        roots = made_in(checkout, before)
        keep_only(checkout, roots)
        for name in roots:
            lay(checkout / name, aside / name, name)
    finally:
        put_back(checkout)
