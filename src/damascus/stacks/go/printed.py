"""What go test prints."""

import re

from damascus.domain.ports import Case
from damascus.stacks.counts import Counts

GO_CASE = re.compile(r"^[ \t]{0,200}--- (PASS|FAIL|SKIP): (\S{1,500}) \(", re.M)
GO_PACKAGE = re.compile(r"^(?:ok|\?)[ \t]{1,20}\S{1,500}[ \t]{1,20}(\S[^\n]{0,300})$", re.M)


def go_summary(text: str) -> Counts | None:
    cases = [
        Case(id=name, status={"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[word], text=name)  # type: ignore[arg-type]
        for word, name in GO_CASE.findall(text)
    ]
    if cases:
        return Counts.of(cases)
    packages = GO_PACKAGE.findall(text)
    nothing = packages and all("[no test files]" in rest or "[no tests to run]" in rest for rest in packages)
    return Counts() if nothing else None
