"""Copies of a project's own Python code: nothing is told by a name alone, since packages of others have names too."""

import json
import posixpath
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlparse

from damascus.stacks.own_code import Own, OwnCode, Sources

EDITABLE = "install it in place (`pip install -e .`)"
ARCHIVES = (".whl", ".egg", ".pyz", ".zip")
READ = 65_536


def _installed_copy(ours: Sources, path: Path, name: str) -> Own | None:
    """pip and its like write down what they installed from; an editable install is said to be one."""
    if path.name != "direct_url.json":
        return None
    try:
        said = json.loads(path.read_bytes()[:READ])
        source = unquote(urlparse(said["url"]).path)
    except (ValueError, KeyError, TypeError):
        return None
    inside = source == ours.seen or source.startswith(f"{ours.seen}/")
    editable = isinstance(said.get("dir_info"), dict) and said["dir_info"].get("editable") is True
    package = path.parent.name.removesuffix(".dist-info")
    if editable or not inside:
        return None
    return Own(posixpath.dirname(name), f"a copy of this project ({package})", EDITABLE)


def _python_copy(ours: Sources, path: Path, name: str) -> Own | None:
    """A module with the content of one of ours, where an import of ours would find it."""
    if path.suffix != ".py":
        return None
    for source in ours.same(path):
        for root in ours.import_roots:
            module = source.removeprefix(root)
            if source.startswith(root) and f"/{name}".endswith(f"/{module}"):
                return Own(name, f"a copy of {source}", EDITABLE)
    return None


def _packed(ours: Sources, path: Path, name: str) -> Own | None:
    """An archive that can be imported, with a module of ours in it."""
    if path.suffix not in ARCHIVES:
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            kept = (ours.checksums.get((each.file_size, each.CRC)) for each in archive.infolist())
            found = next((source for source in kept if source), None)
    except (OSError, zipfile.BadZipFile, ValueError):
        return None
    return Own(name, f"an archive with a copy of {found}", EDITABLE) if found else None


OWN_CODE = OwnCode(
    in_packages=(_installed_copy, _python_copy, _packed),
    outside=(_python_copy, _packed),
    at_home=(_installed_copy, _python_copy),
    by_content=(".py",),
)
