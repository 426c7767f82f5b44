"""A receipt of two requirements, to be changed by each test."""

from typing import Any

from damascus.domain.critique import RequirementStatus, ReviewStatus
from damascus.domain.ids import Sha
from damascus.domain.pull_comment import PullStanding
from damascus.domain.receipt import (
    BuildReceipt,
    CodeOfReceipt,
    DocsOfReceipt,
    GateLine,
    MutationOfReceipt,
    MutationStatus,
    PolicyOfReceipt,
    Proof,
    RequirementLine,
    RequirementsOfReceipt,
    SpecOfReceipt,
    TestsOfReceipt,
)

COMMIT = Sha("91ab33f000000000000000000000000000000000")
TREE = "4c0e1d2" + "0" * 33
BASE = Sha("9b1c0de000000000000000000000000000000000")
FULLY, MVP = RequirementStatus.FULLY_VERIFIED, RequirementStatus.MVP_VERIFIED


def line(ident: str, status: RequirementStatus = FULLY, **more: Any) -> RequirementLine:
    told = {"text": "a quoted comma stays in its field", "tests": ["test_quoted_comma", "test_unclosed_quote"]}
    proved = {"negative": ["test_unclosed_quote"], "red_at": BASE, "green": True, "code": ["csv.py:41-58"]}
    return RequirementLine(**{"id": ident, "status": status, "computed": status, **told, **proved, **more})


def receipt(*lines: RequirementLine, status: ReviewStatus = ReviewStatus.VERIFIED, **proof: Any) -> BuildReceipt:
    given = list(lines) or [line("REQ-001"), line("REQ-002", MVP, gap="1 EXT test xfailed")]
    whole: dict[str, Any] = {
        "story": "S-21", "title": "CSV import", "commit": COMMIT, "tree": TREE, "base": BASE,
        "spec": SpecOfReceipt.of("specs/S-21.md", b"the spec\n"), "policy": PolicyOfReceipt(),
        "summary": "= 212 passed, 1 xfailed in 3.1s =\n", "unverified": ["contracts: no contract path touched"],
        "gates": [GateLine(gate="coverage", passed=True, summary="23 of 24 changed lines run (96 %)")],
    }  # fmt: skip
    return BuildReceipt(
        run_id="S-21",
        branch="feat/S-21",
        timestamp="2026-01-01T00:00:00Z",
        status=status,
        requirements=RequirementsOfReceipt(
            touched=[one.id for one in given], fr_status={one.id: one.status for one in given}
        ),
        tests=TestsOfReceipt(status=status, total=213, passed=212, xfailed=1, failed=0, skipped=0),
        code=CodeOfReceipt(status=status),
        mutation=MutationOfReceipt(status=MutationStatus.VERIFIED, score=100.0, killed=9, total=9),
        docs=DocsOfReceipt(updated=False),
        metrics_binding="pytest",
        requirement_lines=given,
        proof=Proof(**{**whole, **proof}),
    )


def standing(**more: Any) -> PullStanding:
    return PullStanding(**{"story": "S-21", "title": "CSV import", "commit": COMMIT, "tree": TREE, "files": 2, **more})
