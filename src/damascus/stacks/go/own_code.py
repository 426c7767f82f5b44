"""Copies of a project's own Go code: `go mod vendor` makes them."""

import posixpath
import re
from pathlib import Path

from damascus.stacks.own_code import LARGE, Own, OwnCode, Sources

DOWNLOAD = "do not vendor (`go mod download`)"


def _vendored(ours: Sources, path: Path, name: str) -> Own | None:
    """`go mod vendor` copies what a replace directive finds in the repository."""
    if path.name != "modules.txt":
        return None
    found = re.search(rb"^# (\S+)(?: \S+)? => (\.{1,2}/\S*)", path.read_bytes()[:LARGE], re.MULTILINE)
    if found is None:
        return None
    module, source = (part.decode(errors="replace") for part in found.groups())
    return Own(f"{posixpath.dirname(name)}/{module}", f"a copy of {source}", DOWNLOAD)


OWN_CODE = OwnCode(in_packages=(_vendored,))
