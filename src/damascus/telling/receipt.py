"""A receipt as people read it: what is proved of each requirement, by what, and what is not."""

from collections.abc import Iterator, Sequence

from damascus.domain.ids import short
from damascus.domain.receipt import BuildReceipt, MutationOfReceipt, RequirementLine
from damascus.domain.said import last_words
from damascus.telling.phrases import listed, one_line, plain

FEW = 4


Line = tuple[str, str]
"""What a line begins with, and what it says."""


def page(receipt: BuildReceipt, landed: str | None = None, patterns: Sequence[str] = ()) -> Iterator[Line]:
    """Line by line, from the whole to the parts. `patterns` of the library are those that were applied."""
    proof = receipt.proof
    yield f"{proof.story}  ", one_line(proof.title)
    yield "  ", f"{receipt.status} on {short(proof.commit)} (tree {short(proof.tree)}), on top of {short(proof.base)}"
    yield "  tests      ", f"{receipt.tests.status}: {_summary(receipt)}"
    yield "  code       ", str(receipt.code.status)
    yield "  mutation   ", _mutation(receipt.mutation)
    yield "  docs       ", "updated" if receipt.docs.updated else "not touched"
    for line in receipt.requirement_lines:
        yield "", ""
        yield from _requirement(line, proof.story)
    yield "", ""
    yield "  not verified: ", listed([plain(name) for name in proof.unverified], 20) or "nothing is listed"
    yield "  claimed by agents only: ", listed(_claims(receipt), 20) or "nothing"
    for note in receipt.notes:
        yield "  note: ", one_line(note)
    if patterns:
        yield "  note: ", f"patterns applied: {listed([one_line(name) for name in patterns], 20)}"
    if landed is None:
        yield "  ", "not on main yet"


def _summary(receipt: BuildReceipt) -> str:
    if line := one_line(receipt.own_line):
        return f"{line} (the runner's own line)"
    told = receipt.tests.told
    return f"{told} (by the runner's report)" if told else "the runner told no numbers"


def _mutation(found: MutationOfReceipt) -> str:
    if found.score is None:
        return str(found.status)
    return f"{found.status}: {found.killed} of {found.total} killed ({found.score:g} %)"


def _ran(line: RequirementLine, story: str) -> str:
    if line.landed_before and line.green:
        return f"proved when {story} first landed ({short(line.landed_before)}), its tests still green"
    ran = f"red at {short(line.red_at)}" if line.red_at else "not seen red"
    return f"{ran}, {'green' if line.green else 'not seen green'}"


def _requirement(line: RequirementLine, story: str) -> Iterator[Line]:
    yield f"  {line.id}  {line.status}  ", one_line(line.text)
    tests = [f"{_name(test)} (negative)" if test in line.negative else _name(test) for test in line.tests]
    yield "    tests    ", listed(tests, FEW) or "none"
    yield "    ran      ", _ran(line, story)
    yield "    code     ", listed(line.code, FEW) or "not told"
    if line.critic is not None and line.critic is not line.computed:
        yield "    said     ", f"computed {line.computed}, a critic says {line.critic}: the lower stands"
    if line.gap:
        yield "    lacks    ", one_line(line.gap)


def _name(test: str) -> str:
    return plain(test.rpartition("::")[2] or test)


def _claims(receipt: BuildReceipt) -> list[str]:
    claimed = [plain(f"{line.id}: {name}") for line in receipt.requirement_lines for name in line.claimed]
    return [*claimed, *_concerns(receipt)]


def _concerns(receipt: BuildReceipt) -> Iterator[str]:
    """What critics hold against it, whatever word they ended with."""
    for one in last_words(receipt.proof.said):
        if one.critique is not None:
            for told in (*(each.told for each in one.critique.concerns), *one.critique.missing):
                yield one_line(f"{one.role} is concerned: {told}")
