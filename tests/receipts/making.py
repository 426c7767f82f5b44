"""Evidence for receipts, made by hand: an honest story, and whatever a test changes about it."""

from typing import Any

from damascus.domain.critique import Concern, Critique, RequirementStatus, RequirementWord, ReviewStatus
from damascus.domain.receipt import PolicyOfReceipt, Proof, SpecOfReceipt
from damascus.domain.receipt_making import ReceiptEvidence
from damascus.domain.requirement_status import MappedTest, RequirementEvidence, RequirementTag
from damascus.domain.run_counts import MutationNumbers, RunCounts
from damascus.domain.said import Said
from damascus.domain.survivors import MutationScore

FULLY, MVP, PARTIAL, UNKNOWN = RequirementStatus
BASE, HEAD = "b" * 40, "c" * 40
SUMMARY = "4 passed, 1 xfailed, 1 xpassed in 0.12s"


def mapped(name: str = "test_a", outcome: str = "passed", **more: Any) -> MappedTest:
    facts = {"red": True, "proves": True, **more}
    return MappedTest(id=f"tests/test_a.py::{name}", outcome=outcome, **facts)  # type: ignore[arg-type]


def need(ident: str = "REQ-001", **more: Any) -> RequirementEvidence:
    """Fully proved, unless a test says otherwise."""
    tests = [mapped("test_it"), mapped("test_no", negative=True)]
    facts = {"text": "it works", "tests": tests, "code": ["a.py:1-4"], **more}
    return RequirementEvidence(id=ident, **facts)


def counts(**more: Any) -> RunCounts:
    facts = {"passed": 4, "failed": 0, "xfailed": 1, "xpassed": 1, "skipped": 0, **more}
    total = sum(facts[name] for name in ("passed", "failed", "xfailed", "xpassed", "skipped"))
    given = {"total": total, "counted": True, "single": True, "runners": ["pytest"], "summary": SUMMARY, **facts}
    return RunCounts(**given)


def evidence(*needs: RequirementEvidence, said: tuple[Said, ...] = (), **more: Any) -> ReceiptEvidence:
    proof = Proof(
        story="S-1",
        commit=HEAD,
        tree="d" * 40,
        base=BASE,
        red_base=BASE,
        spec=SpecOfReceipt.of("specs/S-1.md", b"a spec\n"),
        policy=PolicyOfReceipt(blob="e" * 40),
        summary=SUMMARY,
    )
    killed = MutationScore(by=["mutmut"], killed=5, survived=2, total=7)
    facts = {"run": counts(), "mutation": MutationNumbers(ran=True, scores=[killed]), **more}
    return ReceiptEvidence(
        run_id="S-1",
        branch="feat/S-1",
        timestamp="2026-03-02T10:11:12+00:00",
        proof=proof,
        requirements=list(needs) or [need()],
        said=list(said),
        **facts,
    )


def critic(
    step: str = "critique_tests",
    status: str = "VERIFIED",
    words: dict[str, RequirementStatus] | None = None,
    **more: Any,
) -> Said:
    concerns = [Concern(what="too few cases")] if status == "UNVERIFIED" else []
    critique = Critique(
        status=ReviewStatus(status),
        summary="each requirement has its tests",
        concerns=concerns,
        missing=["the spec"] if status == "BLOCKED" else [],
        requirements=[RequirementWord(id=ident, status=word) for ident, word in (words or {}).items()],
    )
    role = {"critique_tests": "test-critic", "critique_code": "code-critic"}.get(step, step)
    return Said(step=step, role=role, critique=critique, **more)


def prose(text: str, step: str = "critique_tests", role: str = "test-critic", **claims: object) -> Said:
    reviewed = critic(step).critique if step.startswith("critique") else None
    return Said(step=step, role=role, text=text, claims=claims, critique=reviewed)


__all__ = [
    "BASE", "FULLY", "HEAD", "MVP", "PARTIAL", "SUMMARY", "UNKNOWN", "RequirementTag", "counts", "critic", "evidence",
    "mapped", "need", "prose",
]  # fmt: skip
