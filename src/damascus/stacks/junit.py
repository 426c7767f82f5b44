"""pytest's JUnit file. It is written in the process of the code under test: junk in it is no count, never a crash."""

from itertools import islice
from typing import Literal
from xml.etree import ElementTree

from damascus.domain.ports import Case
from damascus.stacks.counts import Counts

SIZE_LIMIT = 20_000_000
MESSAGE_LIMIT = 300
NAME_LIMIT = 1_000
CASES_LIMIT = 100_000
XPASS = "damascus"
"""The property by which the report tells an unexpected pass (stacks/python/runner/python_start.py)."""
Status = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]


def read_junit(data: bytes) -> Counts | None:
    """All test cases, or None for what is too large, no XML, or more than plain XML (no DTD, no entities)."""
    if len(data) > SIZE_LIMIT or b"\x00" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return None
    try:
        data.decode("utf-8")
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError):
        return None
    if root.tag not in ("testsuites", "testsuite"):
        return None
    cases = list(islice(root.iter("testcase"), CASES_LIMIT + 1))
    return Counts.of(_case(element) for element in cases) if len(cases) <= CASES_LIMIT else None


def _case(element: ElementTree.Element) -> Case:
    status, message = _status(element)
    file, name, classname = (element.get(key, "")[:NAME_LIMIT] for key in ("file", "name", "classname"))
    return Case(id=_id(file, classname, name), status=status, file=file, text=f"{classname} {name}", message=message)


def _status(element: ElementTree.Element) -> tuple[Status, str]:
    children = {child.tag: child for child in reversed(element)}
    if "failure" in children:
        return "failed", children["failure"].get("message", "")[:MESSAGE_LIMIT]
    if "error" in children:
        return "error", children["error"].get("message", "")[:MESSAGE_LIMIT]
    if "skipped" in children:
        skipped = children["skipped"]
        expected = skipped.get("type") == "pytest.xfail"
        return ("xfailed" if expected else "skipped"), skipped.get("message", "")[:MESSAGE_LIMIT]
    told = (one for one in element.iter("property") if one.get("name") == XPASS)
    return ("xpassed" if any(one.get("value") == "xpassed" for one in told) else "passed"), ""


def _id(file: str, classname: str, name: str) -> str:
    """pytest's own node id again: the file, the classes in it, the name. A collection error is its file."""
    if not classname:
        return file or name.replace(".", "/") + ".py"
    if not file:
        return f"{classname.replace('.', '::')}::{name}"
    module = file.removesuffix(".py").replace("/", ".")
    classes = classname.removeprefix(module).strip(".") if classname.startswith(module) else ""
    return "::".join([file, *(part for part in classes.split(".") if part), name])
