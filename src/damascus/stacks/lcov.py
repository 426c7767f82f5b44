"""LCOV as other tools write it: the lines of each file that ran."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

RECORD = re.compile(r"(?P<key>SF|DA|FN|FNDA):(?P<said>.{1,4000})")
DA = re.compile(r"(?P<line>\d{1,7}),(?P<count>\d{1,20})(?:,|$)")
FN = re.compile(r"(?P<line>\d{1,7}),(?:\d{1,7},)?(?P<name>.+)")
FNDA = re.compile(r"(?P<count>\d{1,20}),(?P<name>.+)")


@dataclass
class Counted:
    """`uncalled` are the lines where functions begin that nobody called."""

    ran: set[int] = field(default_factory=set)
    uncalled: set[int] = field(default_factory=set)


def lines_in_lcov(text: str, below: Callable[[str], str | None]) -> dict[str, Counted]:
    """By path; `below` gives the path in the tree of a file that the report names."""
    found: dict[str, Counted] = {}
    for path, record in _files(text):
        name = below(path)
        if name is not None:
            _count(record, found.setdefault(name, Counted()))
    return found


def _files(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    path, record = "", list[tuple[str, str]]()
    for line in text.split("\n"):
        known = RECORD.fullmatch(line.rstrip("\r"))
        if known and known["key"] == "SF":
            path, record = known["said"], []
        elif known:
            record.append((known["key"], known["said"]))
        elif line.startswith("end_of_record") and path:
            yield path, record
            path = ""


def _count(record: list[tuple[str, str]], counted: Counted) -> None:
    hits = [DA.match(said) for key, said in record if key == "DA"]
    begins = [found for key, said in record if key == "FN" and (found := FN.fullmatch(said))]
    calls = [found for key, said in record if key == "FNDA" and (found := FNDA.fullmatch(said))]
    called = {one["name"] for one in calls if int(one["count"])}
    counted.ran |= {int(one["line"]) for one in hits if one and int(one["count"])}
    counted.uncalled |= {int(one["line"]) for one in begins if one["name"] not in called}
    counted.uncalled -= {int(one["line"]) for one in begins if one["name"] in called}


def below_root(root: str) -> Callable[[str], str | None]:
    """Paths of reports, absolute or from the root on, as the tree has them."""

    def below(path: str) -> str | None:
        whole = os.path.normpath(os.path.join(root, path))
        return whole[len(root) + 1 :] if whole.startswith(root + os.sep) else None

    return below
