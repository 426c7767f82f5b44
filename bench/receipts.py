"""Computing a receipt and validating it: a story with 20 requirements and 500 tests."""

import statistics
import time

from bench.table import Result
from damascus.domain.receipt import BuildReceipt, PolicyOfReceipt, Proof, SpecOfReceipt
from damascus.domain.receipt_making import ReceiptEvidence, make_receipt
from damascus.domain.requirement_status import MappedTest, RequirementEvidence
from damascus.domain.run_counts import MutationNumbers, RunCounts
from damascus.domain.said import Said
from damascus.domain.survivors import MutationScore

REQUIREMENTS, TESTS, ROUNDS = 20, 500, 30
LIMIT = 50.0
PROSE = "The suite: 500 passed in 3.21s. Each requirement has its tests. 60 of 60 mutants killed.\n" * 20


def measure() -> list[Result]:
    evidence = _evidence()
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        told = make_receipt(evidence).as_bytes()
        BuildReceipt.model_validate_json(told)
        took.append((time.perf_counter() - began) * 1000)
    middle = statistics.median(took)
    note = (
        f"{REQUIREMENTS} requirements, {TESTS} tests, {len(told) // 1000} kB; median of {ROUNDS}, worst {max(took):.1f}"
    )
    return [Result("receipt computed and validated, ms", middle, f"≤ {LIMIT:g}", middle <= LIMIT, note)]


def _evidence() -> ReceiptEvidence:
    names = [f"tests/test_part_{n % 25}.py::test_REQ_{n % REQUIREMENTS:03d}_case_{n}" for n in range(TESTS)]
    needs = [_need(number, names[number::REQUIREMENTS]) for number in range(REQUIREMENTS)]
    proof = Proof(
        story="S-1", commit="c" * 40, tree="d" * 40, base="b" * 40, red_base="b" * 40, red_tests=names,
        green_tests=names, spec=SpecOfReceipt.of("specs/S-1.md", b"a line of a spec\n" * 400),
        policy=PolicyOfReceipt(blob="e" * 40), summary="500 passed in 3.21s",
    )  # fmt: skip
    run = RunCounts(counted=True, total=TESTS, passed=TESTS, single=True, runners=["pytest"], summary=proof.summary)
    said = [Said(step=step, role="critic", text=PROSE) for step in ("author_tests", "implement", "fix", "self_review")]
    score = MutationScore(by=["mutmut"], killed=60, total=60)
    return ReceiptEvidence(
        run_id="S-1", branch="feat/S-1", timestamp="2026-03-02T10:11:12+00:00", proof=proof, run=run, said=said,
        requirements=needs, mutation=MutationNumbers(ran=True, scores=[score]),
    )  # fmt: skip


def _need(number: int, tests: list[str]) -> RequirementEvidence:
    mapped = [MappedTest(id=test, outcome="passed", red=True, negative=n == 0) for n, test in enumerate(tests)]
    return RequirementEvidence(
        id=f"REQ-{number:03d}", text="it works", tests=mapped, code=[f"src/part_{number}.py:1-40"]
    )
