"""The twenty-one hard rules of the flow that receipts come from, a test each, by name."""

import pytest

from damascus.domain.critique import Critique
from damascus.domain.receipt import BuildReceipt
from damascus.domain.receipt_making import make_receipt
from damascus.domain.requirement_status import RequirementTag, computed
from damascus.domain.run_counts import MutationNumbers, RunCounts
from damascus.domain.said import Said
from damascus.domain.survivors import MutationScore
from damascus.telling.receipt import page
from tests.receipts.making import (
    FULLY,
    MVP,
    PARTIAL,
    SUMMARY,
    UNKNOWN,
    counts,
    critic,
    evidence,
    mapped,
    need,
    prose,
)

EXT, FUTURE, SKIP = RequirementTag.EXT, RequirementTag.FUTURE, RequirementTag.SKIP
XFAILED = mapped("test_later", "xfailed", tag=EXT, proves=False)


def told(receipt: BuildReceipt) -> list[str]:
    return ["".join(line) for line in page(receipt)]


def made(*needs: object, said: tuple[Said, ...] = (), **more: object) -> BuildReceipt:
    return make_receipt(evidence(*needs, said=said, **more))  # type: ignore[arg-type]


def test_what_a_critic_holds_against_it_is_on_the_page_whatever_its_word() -> None:
    word = {"status": "VERIFIED", "summary": "x", "concerns": ["everything\x1b[1m is wrong"], "missing": ["a schema"]}
    said = Said(step="critique_tests", role="test-critic", critique=Critique.model_validate(word))
    [line] = [line for line in told(made(need(), said=(said,))) if "claimed by agents only" in line]
    assert "test-critic is concerned: everything is wrong, test-critic is concerned: a schema" in line
    assert any("claimed by agents only: nothing" in line for line in told(made(need())))


# ── requirement status: four rules ────────────────────────────────────────────────────────────────────


@pytest.mark.req("F7.1")
@pytest.mark.parametrize(
    "other",
    [XFAILED, mapped("test_s", "skipped", tag=SKIP), mapped("test_m", tag=SKIP), mapped("test_x", "xpassed", tag=EXT)],
    ids=["xfailed", "skipped", "marked SKIP", "xpassed"],
)
def test_requirement_status_1_no_fully_verified_with_an_xfailed_or_skipped_test(other: object) -> None:
    found = need()
    found.tests.append(other)  # type: ignore[arg-type]
    assert computed(found).status is MVP
    assert made(found).requirements.fr_status == {"REQ-001": MVP}


@pytest.mark.req("F7.1")
@pytest.mark.parametrize(("lacks", "why"), [({"tests": []}, "no test names it"), ({"code": []}, "changed code")])
def test_requirement_status_2_claimed_fully_without_tests_or_code_is_partial_and_flagged(
    lacks: dict[str, list[str]], why: str
) -> None:
    receipt = made(need(**lacks), said=(critic(words={"REQ-001": FULLY}),))
    assert receipt.requirements.fr_status == {"REQ-001": PARTIAL}
    assert why in receipt.requirement_lines[0].gap
    assert any("claimed FULLY_VERIFIED by test-critic" in note for note in receipt.notes)


@pytest.mark.req("F7.1")
@pytest.mark.parametrize("outcome", ["failed", "error"])
def test_requirement_status_3_a_failing_test_is_partial_by_definition(outcome: str) -> None:
    found = need(code=[], code_unmeasured="nobody looked")
    found.tests.append(mapped("test_red", outcome, tag=EXT))
    assert computed(found).status is PARTIAL, "whatever it is tagged, and whatever can't be measured"


@pytest.mark.req("F7.2")
def test_requirement_status_4_what_has_no_tests_and_code_is_flagged_as_a_gap_by_name() -> None:
    receipt = made(need(), need("REQ-002", tests=[], code=[]))
    assert receipt.requirements.fr_status == {"REQ-001": FULLY, "REQ-002": PARTIAL}
    assert "REQ-002 is PARTIAL: no test names it" in receipt.notes
    assert receipt.unproved == ["REQ-002 is PARTIAL (no test names it)"]


# ── test-critic: four rules ───────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F9.2")
def test_test_critic_1_a_narrative_that_contradicts_the_runner_blocks() -> None:
    receipt = made(said=(prose("All is well: 9 passed, 0 failed."),))
    assert (receipt.tests.status, receipt.tests.metrics_consistency) == ("BLOCKED", "MISMATCH")
    assert receipt.tests.passed == 4, "the number on the receipt is the runner's"


@pytest.mark.req("F7.2")
def test_test_critic_2_a_requirement_maps_to_tests_and_without_one_is_partial() -> None:
    named = critic()
    assert named.critique is not None
    word = critic(words={"REQ-001": FULLY}).critique
    assert word is not None
    word.requirements[0].tests = ["tests/test_b.py::test_of_another"]
    receipt = made(need(tests=[]), said=(named.model_copy(update={"critique": word}),))
    assert receipt.requirements.fr_status == {"REQ-001": PARTIAL}, "a critic's mapping is a claim"
    assert receipt.requirement_lines[0].claimed == ["tests/test_b.py::test_of_another"]


@pytest.mark.req("F7.1")
def test_test_critic_3_an_xfailed_test_and_a_claim_of_fully_is_unverified() -> None:
    found = need()
    found.tests.append(XFAILED)
    receipt = made(found, said=(critic(words={"REQ-001": FULLY}),))
    assert (receipt.tests.status, receipt.code.status) == ("UNVERIFIED", "UNVERIFIED")
    untagged = need()
    untagged.tests.append(mapped("test_later", "xfailed"))
    assert computed(untagged).status is PARTIAL, "only what is tagged EXT or FUTURE may be expected to fail"


@pytest.mark.req("F9.2")
def test_test_critic_4_numbers_that_differ_are_blocked_as_metrics_mismatch() -> None:
    run = counts(passed=191, xfailed=4, xpassed=1)
    fine = made(run=run, said=(prose("196 tests total: 191 passed, 4 xfailed, 1 xpassed."),))
    assert (fine.tests.status, fine.tests.metrics_consistency, fine.tests.total) == ("VERIFIED", "OK", 196)
    wrong = made(run=run, said=(prose("224 tests total"),))
    assert (wrong.tests.status, wrong.tests.metrics_consistency) == ("BLOCKED", "MISMATCH")
    assert any(note.startswith("metrics mismatch: test-critic") and "224" in note for note in wrong.notes)


# ── code-critic: three rules ──────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F7.2")
def test_code_critic_1_each_requirement_says_where_it_is_implemented_and_tested() -> None:
    [line] = made().requirement_lines
    assert (line.code, line.tests) == (["a.py:1-4"], ["tests/test_a.py::test_it", "tests/test_a.py::test_no"])


@pytest.mark.req("F7.1")
def test_code_critic_2_claimed_fully_without_implementation_and_tests_is_unverified() -> None:
    receipt = made(need(tests=[], code=[]), said=(critic("critique_code", words={"REQ-001": FULLY}),))
    assert (receipt.code.status, receipt.requirements.fr_status) == ("UNVERIFIED", {"REQ-001": PARTIAL})


@pytest.mark.req("F7.1")
def test_code_critic_3_an_xfailed_test_of_core_behaviour_lowers_and_is_noted() -> None:
    core, extended = need(), need()
    core.tests.append(mapped("test_core", "xfailed"))
    extended.tests.append(XFAILED)
    assert [computed(core).status, computed(extended).status] == [PARTIAL, MVP]
    assert any("test_core (xfailed)" in note for note in made(core).notes)


# ── mutator: three rules ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F10.2")
def test_mutator_1_the_score_is_the_tools_own() -> None:
    mutation = made().mutation
    assert (mutation.status, mutation.killed, mutation.total) == ("VERIFIED", 5, 7)


@pytest.mark.req("F10.3")
def test_mutator_2_a_survivor_on_a_requirements_path_lowers_that_requirement() -> None:
    receipt = made(need(survivors=["a.py:3 < for <=: its tests stay green"]), need("REQ-002"))
    assert receipt.requirements.fr_status == {"REQ-001": PARTIAL, "REQ-002": FULLY}
    assert receipt.mutation.status == "VERIFIED", "the tool came to its end"


@pytest.mark.req("F10.2")
def test_mutator_3_a_score_is_cut_and_judged_by_nobody() -> None:
    score = MutationScore(by=["mutmut"], killed=9996, survived=4, total=10000)
    receipt = made(mutation=MutationNumbers(ran=True, scores=[score]))
    assert receipt.mutation.score == 99.9
    assert made().mutation.score == 71.4 and made().status == "VERIFIED", "no threshold of ours"


# ── self-reviewer: four rules ─────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F9.1")
def test_self_reviewer_1_a_number_without_a_tool_behind_it_is_hard_coded() -> None:
    run = RunCounts(summary="done")
    receipt = made(run=run, said=(prose("12 passed", "self_review", "self-reviewer"),))
    assert (receipt.metrics_binding, receipt.status) == ("hard_coded", "UNVERIFIED")
    assert (receipt.tests.total, receipt.tests.passed) == (None, None)
    assert made(run=run).metrics_binding == "exit_code", "who claims no number has none that is hard-coded"
    left = made(said=(prose("<PYTEST_TOTAL> tests", "self_review", "self-reviewer"),))
    assert left.metrics_binding == "hard_coded"


@pytest.mark.req("F9.3")
def test_self_reviewer_2_consumes_and_never_upgrades() -> None:
    low = critic(words={"REQ-001": PARTIAL})
    high = Said(step="self_review", role="self-reviewer", claims={"fr_status": {"REQ-001": "FULLY_VERIFIED"}})
    assert made(said=(low, high)).requirements.fr_status == {"REQ-001": PARTIAL}
    weak = need(tests=[mapped()])
    receipt = made(weak, said=(high,))
    assert (receipt.requirements.fr_status, receipt.status) == ({"REQ-001": MVP}, "UNVERIFIED")


@pytest.mark.req("F9.2")
def test_self_reviewer_3_a_mismatch_of_its_own_is_unverified() -> None:
    receipt = made(said=(prose("All 224 tests pass.", "self_review", "self-reviewer"),))
    assert (receipt.tests.status, receipt.tests.metrics_consistency) == ("UNVERIFIED", "MISMATCH")


@pytest.mark.req("F10.1")
def test_self_reviewer_4_the_runners_line_is_quoted_verbatim() -> None:
    receipt = made()
    assert receipt.proof.summary == SUMMARY and receipt.tests.pytest_summary_source == "test_summary.md (canonical)"
    assert any(SUMMARY in line for line in told(receipt))


# ── reporter: three rules ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F9.1")
def test_reporter_1_recomputes_no_number() -> None:
    receipt = made(said=(prose("7 passed of 7", "report", "reporter", passed=7),))
    assert (receipt.tests.passed, receipt.tests.metrics_consistency) == (4, "MISMATCH")
    assert receipt.tests.status == "UNVERIFIED"


@pytest.mark.req("F9.3")
def test_reporter_2_upgrades_no_status() -> None:
    report = Said(step="report", role="reporter", claims={"requirements": {"REQ-001": "FULLY_VERIFIED"}}, text="done!")
    receipt = made(need(tests=[]), said=(report,))
    assert receipt.requirements.fr_status == {"REQ-001": PARTIAL}
    assert any("REQ-001  PARTIAL" in line for line in told(receipt))


@pytest.mark.req("F9.3")
def test_reporter_3_keeps_mvp_and_fully_apart() -> None:
    receipt = made(need(), need("REQ-002", tests=[mapped()]))
    lines = told(receipt)
    assert any("REQ-001  FULLY_VERIFIED" in line for line in lines)
    assert any("REQ-002  MVP_VERIFIED" in line for line in lines)


# ── beside them ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F8.2")
def test_fully_claimed_above_the_evidence_makes_tests_and_code_unverified_too() -> None:
    receipt = made(need(tests=[mapped()]), said=(critic("critique_code", words={"REQ-001": FULLY}),))
    assert (receipt.tests.status, receipt.code.status, receipt.status) == ("UNVERIFIED",) * 3
    assert receipt.requirements.fr_status == {"REQ-001": MVP}


@pytest.mark.req("F8.2")
def test_unknown_only_because_it_cannot_be_measured_asks_nobody_unless_a_critic_says_partial() -> None:
    dark = need(code=[], code_unmeasured="no stack tells it")
    assert made(dark).requirements.fr_status == {"REQ-001": UNKNOWN} and made(dark).unproved == []
    assert made(dark, said=(critic(words={"REQ-001": MVP}),)).unproved == []
    assert made(dark, said=(critic(words={"REQ-001": PARTIAL}),)).unproved
    assert made(need(), said=(critic(words={"REQ-001": UNKNOWN}),)).unproved, "that is a critic's doubt"


@pytest.mark.req("F8.1")
def test_no_readable_review_is_blocked_and_never_verified() -> None:
    silent = Said(step="critique_tests", role="test-critic")
    assert made(said=(silent,)).tests.status == "BLOCKED"
    blank = critic()
    assert blank.critique is not None
    empty = blank.model_copy(update={"critique": blank.critique.model_copy(update={"summary": ""})})
    assert made(said=(empty,)).tests.status == "BLOCKED"


@pytest.mark.req("F8.1")
def test_what_is_blocked_has_a_note_that_says_why() -> None:
    silent = Said(step="critique_tests", role="test-critic")
    assert made(said=(silent,)).notes[0] == (
        "tests BLOCKED: test-critic (critique_tests) could not review it, missing: a readable report: there is none"
    )
    receipt = made(said=(critic("review_security", "BLOCKED"),))
    assert receipt.code.status == "BLOCKED"
    assert "code BLOCKED: review_security (review_security) could not review it, missing: the spec" in receipt.notes
    whole = made(said=(critic("self_review", "BLOCKED"),))
    assert whole.notes[0].startswith("tests and code BLOCKED: self_review (self_review) could not")
    assert not [note for note in made(said=(critic(), Said(step="self_review", role="x"))).notes if "BLOCKED" in note]


@pytest.mark.req("F8.1")
def test_what_is_tagged_for_later_and_has_no_test_is_untouched_and_has_its_status() -> None:
    receipt = made(need(), need("REQ-007", tag=FUTURE, tests=[], code=[]))
    assert (receipt.requirements.touched, receipt.requirements.untouched) == (["REQ-001"], ["REQ-007"])
    assert receipt.requirements.fr_status["REQ-007"] == PARTIAL
    assert (receipt.unproved, receipt.status) == ([], "VERIFIED")


@pytest.mark.req("F9.3")
@pytest.mark.parametrize("step", ["review_code", "review_security"])
def test_who_reads_the_pull_request_lowers_the_code_and_a_number_of_its_own_the_tests(step: str) -> None:
    doubts = make_receipt(evidence(said=(critic(step, "UNVERIFIED"),)))
    assert (doubts.code.status, doubts.tests.status, doubts.status) == ("UNVERIFIED", "VERIFIED", "UNVERIFIED")
    wrong = critic(step, "VERIFIED", text="all 9 tests pass")
    invented = make_receipt(evidence(said=(wrong,)))
    assert (invented.tests.status, invented.tests.metrics_consistency) == ("UNVERIFIED", "MISMATCH")


@pytest.mark.req("F8.1", "F4.1")
def test_of_a_run_that_ended_early_nothing_is_verified_whatever_was_seen() -> None:
    given = evidence()
    ended = given.model_copy(update={"proof": given.proof.model_copy(update={"unfinished": "a critic is BLOCKED"})})
    receipt = make_receipt(ended)
    assert (receipt.status, receipt.tests.status, receipt.code.status) == ("UNVERIFIED",) * 3
    assert receipt.unproved and "a critic is BLOCKED" in receipt.notes[0]


@pytest.mark.req("F9.2")
def test_numbers_that_tools_told_before_the_last_fix_may_be_quoted() -> None:
    before = {
        "runs": [counts(passed=2)],
        "mutations": [MutationNumbers(ran=True, scores=[MutationScore(killed=1, total=2)])],
    }
    quoted = (prose("2 passed, 1 xfailed"), prose("1 of 2 mutants", "explain_mutants", "mutator"))
    assert make_receipt(evidence(said=quoted)).tests.metrics_consistency == "MISMATCH"
    given = evidence(said=quoted)
    known = given.model_copy(update={"proof": given.proof.model_copy(update=before)})
    assert make_receipt(known).tests.metrics_consistency == "OK"


@pytest.mark.req("F9.2")
def test_numbers_of_the_red_run_are_no_mismatch_and_words_of_earlier_rounds_are_forgotten() -> None:
    red = counts(passed=0, failed=6, xfailed=0, xpassed=0)
    assert made(other_runs=[red], said=(prose("6 failed", "author_tests", "test-author"),)).tests.status == "VERIFIED"
    first, second = prose("77 passed"), prose("4 passed").model_copy(update={"round": 2})
    assert made(said=(first, second)).tests.metrics_consistency == "OK"
