"""oasdiff, where it is installed: it knows many more breaking changes than our own rules. Run in a sandbox without a
network, on the two descriptions as one document each."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from damascus.gates.contracts.permitted import Broken
from damascus.system import process
from damascus.system.plain_file import read_plain
from damascus.system.sandbox import Cage, detect

ERROR = 3
SECONDS = 120.0
ANSWER_LIMIT = 5_000_000


def installed() -> str | None:
    return shutil.which("oasdiff")


def breaking(old: dict[str, Any], new: dict[str, Any]) -> tuple[list[Broken], list[str]] | None:
    """What breaks a client, and what may; None where it is not installed or could not read them."""
    program = installed()
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="damascus-oasdiff-") as name:
        found = _run(program, Path(name), old, new)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return None
    broken = [_broken(each) for each in found if each.get("level") == ERROR]
    return broken, [_broken(each).text for each in found if each.get("level") != ERROR]


def _run(program: str, folder: Path, old: dict[str, Any], new: dict[str, Any]) -> Any:
    for name, document in (("main.json", old), ("story.json", new)):
        (folder / name).write_text(json.dumps(document))
    real = os.path.realpath(program)
    finished = process.run(
        [real, "breaking", "main.json", "story.json", "--format", "json"],
        cwd=folder,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder)},
        log=folder / "log",
        timeout=SECONDS,
        merge_stderr=False,
        cage=Cage(detect(), write=(folder,), read=(Path(real),)),
    )
    try:
        said = read_plain(folder / "log", ANSWER_LIMIT) or b""
        return json.loads(said.strip() or b"[]") if finished.exit_code == 0 else None
    except (ValueError, RecursionError):
        return None


def _broken(told: dict[str, Any]) -> Broken:
    path, ident = str(told.get("path") or ""), str(told.get("operationId") or "")
    operation = f"{told.get('operation') or ''} {path}".strip()
    text = " ".join(str(told.get("text")).split())
    return Broken(f"{operation}: {text}".removeprefix(": "), tuple(each for each in (operation, path, ident) if each))
