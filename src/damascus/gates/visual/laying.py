"""A page's pictures as files, for a person's eyes; what counts is in the database."""

import re
from pathlib import Path

from damascus.gates.visual.comparing import ComparedPicture

NAME = re.compile(r"[^A-Za-z0-9.-]+")


def lay_out(folder: Path, page: str, mark: str, png: bytes, found: ComparedPicture) -> dict[str, str]:
    """Where each lies, by what it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    start = f"{NAME.sub('_', page).strip('_')[:60] or 'page'}-{mark}"
    accepted = found.against.png if found.against else b""
    contents = {"accepted": accepted, "candidate": png, "difference": found.difference}
    files = {kind: folder / f"{start}.{kind}.png" for kind, content in contents.items() if content}
    for kind, path in files.items():
        path.write_bytes(contents[kind])
    return {kind: str(path) for kind, path in files.items()}
