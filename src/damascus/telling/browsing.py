"""Why a list of stories is empty, in one or two sentences."""

from collections.abc import Sequence

from damascus.telling.phrases import listed

MANY = 10


def why_empty(asked: Sequence[str], cut: bool, any_story: bool) -> str:
    """`asked` are the filters in words; `cut`: only the stories changed last were looked through."""
    if not any_story:
        return "No story has been queued yet. Queue one: damascus add SPEC, or make one: damascus new"
    if not asked:
        return "No older story is there: this is the end of the list."
    looked = " among those looked through, which changed last; older ones may match" if cut else ""
    return f"No story matches {listed(list(asked), MANY)}{looked}."
