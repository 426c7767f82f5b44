"""The tag of a test: MVP, EXT, FUTURE or SKIP, by its name, a marker, or its docstring. One rule for every stack.

A tag is written `@EXT`, `(EXT)`, as a part of a name (`TestImport_EXT`, `req_2_EXT_quotes`), or as pytest's marker
`pytest.mark.ext`. The word alone is none: people write of SKIP LOCKED. Where there are several, the last of the list
wins: whoever says SKIP leaves it out, whatever else is said.
"""

import re

from damascus.domain.requirement_status import RequirementTag

WORDS = {
    tag: re.compile(
        rf"(?:(?<=@)(?i:{tag.value})|(?<=\bmark\.)(?i:{tag.value})|(?<=_){tag.value}|(?<=\(){tag.value}(?=\)))"
        r"(?![A-Za-z0-9])"
    )
    for tag in RequirementTag
}
EXPECTED = re.compile(r"\bxfail\b|\bexpectedFailure\b")
"""Marked as expected to fail."""


def tag_of(text: str) -> RequirementTag:
    return next((tag for tag in reversed(RequirementTag) if WORDS[tag].search(text)), RequirementTag.MVP)
