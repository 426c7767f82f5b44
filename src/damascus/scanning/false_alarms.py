"""How often the scanner cries wolf: `python -m damascus.scanning.false_alarms`, over our dependencies' own files.

Nobody put a secret there, so every hit is a false alarm. The number stands in docs/writes.md.
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from damascus.scanning.lines import new_lines
from damascus.scanning.scan import Hit
from damascus.scanning.scanner import Scanner

PACKAGES = ("httpx", "psycopg", "pydantic", "rich", "typer")
KINDS_OF_FILES = (".py", ".md", ".json", ".toml")
COUNT = 200


def ordinary_files(count: int = COUNT) -> list[tuple[str, Path]]:
    """The same number of each package, the first ones by path; what one lacks the others give."""
    found = [list(_files_of(package)) for package in PACKAGES]
    taken = [file for files in found for file in files[: count // len(PACKAGES)]]
    rest = (file for files in found for file in files[count // len(PACKAGES) :])
    return sorted([*taken, *islice(rest, count - len(taken))])


def _files_of(package: str) -> Iterator[tuple[str, Path]]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return
    folder = Path(spec.origin).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix in KINDS_OF_FILES and path.is_file():
            yield path.relative_to(folder.parent).as_posix(), path


def alarms(files: list[tuple[str, Path]], scanner: Scanner) -> list[Hit]:
    added = [lines for name, path in files for lines in new_lines(name, None, path.read_bytes())]
    return scanner.scan(added)


def main() -> int:
    files = ordinary_files()
    scanner = Scanner()
    try:
        hits = alarms(files, scanner)
    finally:
        scanner.close()
    for hit in hits:
        print(f"{hit['path']}:{hit['line']}: {hit['kind']}")
    lines = sum(path.read_bytes().count(b"\n") for _, path in files)
    print(f"{len(hits)} false alarms in {len({hit['path'] for hit in hits})} of {len(files)} files, {lines:,} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
