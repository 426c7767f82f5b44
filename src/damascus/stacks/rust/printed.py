"""What cargo test prints."""

import re

from damascus.domain.ports import Case
from damascus.stacks.counts import Counts

CARGO = re.compile(r"^test result: \w{1,20}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored", re.M)
CARGO_CASE = re.compile(r"^test (\S{1,500})(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.M)


def cargo_summary(text: str) -> Counts | None:
    """One line per binary, most of them empty: added up."""
    rows = [tuple(map(int, row)) for row in CARGO.findall(text)]
    if not rows:
        return None
    states = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
    cases = tuple(
        Case(id=name, status=states[word], text=name)  # type: ignore[arg-type]
        for name, word in CARGO_CASE.findall(text)
    )
    passed, failed, skipped = (sum(column) for column in zip(*rows, strict=True))
    return Counts(cases, passed, failed, skipped)
