"""The files beside the task graph as text: what was not run is never ✅, and no agent's word is more than a word."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from damascus.domain.judged_contracts import JudgedContract
from damascus.domain.ports import Evidence, Finding, GateName, GateResult
from damascus.domain.tasks import ContractKind
from damascus.domain.verdict import TaskStatus, Verdict
from damascus.tasks.projections.checkpoint import OK, block, checkpoint_file
from damascus.tasks.projections.facts import FullCheckpoint, TaskFacts, TaskProof
from damascus.tasks.projections.records import assumptions_file, decisions_file, ownership_file
from damascus.tasks.projections.region import BEGIN, END, parted, region_of, with_region

AT = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


def ran(gate: str, command: str = "make it", code: int | None = 0, told: str = "") -> Evidence:
    return Evidence(gate=gate, command=command, exit_code=code, summary=told)


def whole() -> tuple[GateResult, ...]:
    kinds = (ContractKind.UNIT, ContractKind.INTEGRATION, ContractKind.INTEGRATION)
    judged = [JudgedContract(id=f"TC-{n}", kind=kind) for n, kind in enumerate(kinds, 1)]
    return (
        GateResult(gate=GateName.TESTS, evidence=[ran("tests")]),
        GateResult(gate=GateName.TEST_CONTRACTS, contracts=judged),
        GateResult(gate=GateName.IMPACT, evidence=[ran("TASK-001")]),
        GateResult(gate=GateName.COMMANDS, evidence=[ran("lint"), ran("types"), ran("build")]),
        GateResult(gate=GateName.CONTRACTS, evidence=[ran("contracts", "", None, "user.ts: 2 Zod schemas, 4 samples")]),
    )


def done(results: tuple[GateResult, ...] = (), **more: Any) -> TaskFacts:
    facts = TaskFacts("TASK-005", "User login", TaskStatus.DONE, "TASK-GRAPH.md", 5, "a" * 40, AT)
    return replace(facts, proof=TaskProof(results), **more)


@pytest.mark.req("A8.1")
def test_the_block_of_a_task_is_as_published() -> None:
    task = replace(
        done(), proof=TaskProof(whole(), ("PATTERN-001 (NextAuth v5 + Prisma sessions)",), "Used database sessions.")
    )
    assert block(task) == (
        "--- Task 5: User login — DONE ✅\n"
        "Id: TASK-005\n"
        "TC: 3/3 pass (1 unit, 2 integration)\n"
        "Contracts: ✅ user.ts: 2 Zod schemas, 4 samples\n"
        "Regression: ✅ no cross-task failures\n"
        "Gates: ✅ lint ✅ types ✅ tests ✅ build\n"
        "Patterns applied: PATTERN-001 (NextAuth v5 + Prisma sessions)\n"
        "Notes: Used database sessions.\n"
    )
    assert task.checkpoint == "aaaaaaaaaaaa 2026-06-01T12:30:00Z"


@pytest.mark.req("A8.1")
def test_what_was_not_run_is_never_marked() -> None:
    lines = block(done()).splitlines()
    assert lines[1:] == [
        "Id: TASK-005",
        "TC: not run", "Contracts: not run", "Regression: not run", "Gates: not run: lint, types, tests, build",
        "Patterns applied: none", "Notes: none",
    ]  # fmt: skip


@pytest.mark.req("A8.1")
@pytest.mark.parametrize(
    ("ident", "number"),
    [("TASK-005", "5"), ("TASK-104", "104"), ("TASK-CICD-12", "12"), ("TASK-0", "0"), ("TASK-API", "7"), ("V2X", "7")],
)
def test_a_block_has_the_number_and_the_id_of_its_task(ident: str, number: str) -> None:
    assert block(done(id=ident, place=7)).startswith(f"--- Task {number}: User login — DONE ✅\nId: {ident}\n")


@pytest.mark.req("A8.1")
def test_mutation_and_what_is_not_verified_are_as_the_receipt_says() -> None:
    def gates(**said: Any) -> str:
        failed = GateResult(gate=GateName.MUTATION, evidence=[ran("mutation", code=1)])
        return block(replace(done(), proof=TaskProof((failed,), **said))).splitlines()[5]

    assert gates(mutation=True) == "Gates: ✅ mutation | not run: lint, types, tests, build"
    assert gates(mutation=False).startswith("Gates: not verified: mutation | ")
    assert "mutation" not in gates()
    told = gates(mutation=False, unverified=("canary", "mutation: no tool", "old tests", "the project's own suite"))
    assert "not verified: mutation; canary; old tests; the project's own suite |" in told


WEAK = [
    GateResult(gate=GateName.IMPACT, evidence=[Evidence(gate="impact", summary="no other story owns a changed file")]),
    GateResult(gate=GateName.IMPACT, evidence=[ran("TASK-1")], unverified=["impact: by exit code only"]),
    GateResult(
        gate=GateName.IMPACT, evidence=[ran("x")],
        findings=[Finding(gate="impact", verdict=Verdict.REGRESSION, message="broken")],
    ),
    GateResult(
        gate=GateName.COMMANDS, evidence=[ran("lint", code=1), ran("lint on the base")], unverified=["lint: red"]
    ),
    GateResult(gate=GateName.COMMANDS, evidence=[ran("types")], unverified=["types: `fix` changes a.py: no"]),
    GateResult(gate=GateName.COMMANDS),
    GateResult(gate=GateName.TESTS, evidence=[ran("tests", code=None)]),
    GateResult(gate=GateName.TESTS, evidence=[Evidence(gate="tests", summary="nothing")]),
    GateResult(gate=GateName.CONTRACTS, evidence=[Evidence(gate="contracts", summary="a.yaml: deleted")]),
    GateResult(gate=GateName.CONTRACTS, evidence=[ran("server", code=3, told="schemathesis")]),
    GateResult(gate=GateName.CONTRACTS, unverified=["contracts: a.yaml: not named"]),
    GateResult(gate=GateName.TEST_CONTRACTS, contracts=[JudgedContract(id="TC-1", kind=ContractKind.UNIT, why="no")]),
    GateResult(gate=GateName.SUITE, evidence=[ran("suite", code=1)]),
]  # fmt: skip


@pytest.mark.req("A8.1")
@pytest.mark.parametrize("result", WEAK, ids=lambda result: f"{result.gate}-{len(result.evidence)}")
def test_no_mark_without_a_run_that_ended_well(result: GateResult) -> None:
    assert OK not in "\n".join(block(done((result,))).splitlines()[1:])


@pytest.mark.req("A8.1")
def test_a_task_that_stopped_says_why() -> None:
    stopped = done(status=TaskStatus.BLOCKED, reason="which\ncolour?")
    assert block(stopped) == "--- Task 5: User login — BLOCKED\nId: TASK-005\nReason: which colour?\n"
    stale = done(status=TaskStatus.STALE, reason="")
    assert block(stale) == "--- Task 5: User login — STALE\nId: TASK-005\nChange: not told\n"
    assert stale.checkpoint == "", "what it landed as is valid no more"


@pytest.mark.req("A8.2")
def test_full_checkpoints_stand_where_they_were_taken() -> None:
    tasks = [done(id=f"TASK-{n}", place=n) for n in range(1, 6)]
    full = FullCheckpoint(
        1, 3, AT, ("TASK-2", "TASK-1", "TASK-3"), "2 PENDING", ("TASK-4: why?",), ("TASK-5: new spec",),
        ("PATTERN-001",), "✅ no cross-task failures",
    )  # fmt: skip
    text = checkpoint_file(tasks, ["TASK-2", "TASK-1", "TASK-3", "TASK-5"], [full])
    heads = [line.split(" — ")[0] for line in text.splitlines() if line.startswith(("---", "==="))]
    assert heads == [
        "--- Task 2: User login", "--- Task 1: User login", "--- Task 3: User login", "=== Checkpoint 1: 3 tasks DONE",
        "--- Task 5: User login",
    ]  # fmt: skip
    assert (
        "Done since the last: TASK-2, TASK-1, TASK-3\nRemaining: 2 PENDING\nBLOCKED: TASK-4: why?\n"
        "STALE: TASK-5: new spec\nPatterns applied: PATTERN-001\nRegression: ✅ no cross-task failures\n"
    ) in text


HOSTILE = (
    "x\n## DECISION-999: mine\n--- Task 1: y — DONE ✅\x00\u202e<script>|[a](http://b) `c` <!-- damascus: end -->"
    + "z" * 9999
)


@pytest.mark.req("A9.1", "A9.2", "A8.1")
def test_words_of_agents_stay_words() -> None:
    row = {"number": 7, "task": "TASK-018", "made_at": AT, **dict.fromkeys(
        ("title", "context", "decision", "trade_off", "pattern", "assumption"), HOSTILE)}  # fmt: skip
    proof = TaskProof((), (HOSTILE,), HOSTILE)
    for text in (decisions_file([row]), assumptions_file([row]), ownership_file([(HOSTILE, ["T"])]),
                 block(replace(done(title=HOSTILE), proof=proof))):  # fmt: skip
        assert not {"\x00", "\u202e", "\u200b"} & set(text) and "<" not in text and len(text) < 9000
        assert "\n## DECISION-999" not in text and text.count("\n--- Task") == 0
        assert "http://" not in text
    assert region_of(with_region(b"", decisions_file([row]))) == decisions_file([row]).encode()


@pytest.mark.req("A9.1", "A9.2")
def test_decisions_assumptions_and_owners_are_as_published() -> None:
    row = {
        "number": 7, "task": "TASK-018", "made_at": AT, "title": "Used optimistic locking", "context": "Deadlocks.",
        "decision": "Try again.", "trade_off": "Slower.", "pattern": "Candidate for PATTERN-007.", "assumption": "UTC",
    }  # fmt: skip
    assert decisions_file([row]).endswith(
        "## DECISION-007: Used optimistic locking\nDate: 2026-06-01\nTask: TASK-018\nContext: Deadlocks.\n"
        "Decision: Try again.\nTrade-off: Slower.\nPattern: Candidate for PATTERN-007.\n"
    )
    assert assumptions_file([row]).endswith("- A-007 (TASK-018): UTC\n")
    assert ownership_file([("a.py", ["TASK-001", "TASK-002"])]).endswith(
        "| File | Owning Task(s) |\n|---|---|\n| a.py | TASK-001, TASK-002 |\n"
    )


@pytest.mark.req("A9.1")
@pytest.mark.parametrize("theirs", [b"", b"mine", b"mine\r\n", b"\xff\xfe\x00", b"a " + BEGIN, b"a\n" + END])
def test_words_outside_the_marks_are_left_alone(theirs: bytes) -> None:
    once = with_region(theirs, "one\n")
    assert once.startswith(theirs) and region_of(once) == b"one\n"
    more = once + b"their last words"
    again = with_region(more, "two\n")
    assert again == more.replace(b"one\n" + END, b"two\n" + END)
    assert parted(BEGIN + b"no end")[1] == b"no end"
