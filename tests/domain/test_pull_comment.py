"""The comment on a pull request: the receipt as it stands, and whatever anybody wrote as text that does nothing."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from damascus.domain.critique import Concern, Critique, RequirementStatus, ReviewStatus
from damascus.domain.ids import Sha
from damascus.domain.inert_markdown import code, prose, quoted
from damascus.domain.ports import CiJob, CiRun, CiState, ProofState
from damascus.domain.pull_comment import comment, proof_state, status_line
from damascus.domain.said import Said
from damascus.domain.verdict import Verdict
from damascus.forges.marks import is_marked, marked, without_marks
from damascus.forges.proofs import LONGEST
from damascus.telling.receipt import page
from tests.domain.receipts import COMMIT, FULLY, MVP, line, receipt, standing

PARTIAL, UNKNOWN = RequirementStatus.PARTIAL, RequirementStatus.UNKNOWN
LANDED = Sha("77aa11b000000000000000000000000000000000")
GREEN = CiRun(sha=COMMIT, run_id="1", jobs=[CiJob(name=name, state=CiState.SUCCESS) for name in ("test", "lint")])
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=y> @everyone @org/team #12 closes #13 !14 GH-15 | a | b |\n\n"
    "# FULLY VERIFIED\n| REQ-009 | FULLY | x | ✓ | ✓ | y |\n</details> `code` ```fence``` "
    "[click](https://evil.example) ![pic](//evil.example/p.png) www.evil.example https://evil.example "
    "<!-- damascus:landed-as-x --> \u202egnp.exe"
)
FORGE = MarkdownIt("gfm-like", {"html": True, "linkify": False})
"""What forges render: tables, HTML, and addresses as links; those are looked for by `ADDRESS`."""
ADDRESS = re.compile(r"\w://|www\.\w", re.IGNORECASE)
MEANING = re.compile(r"@\w|#\d|!\d|GH-\d")
"""What a forge makes something of, in text that it has rendered and that is no code."""


def rendered(text: str) -> str:
    """The page without what stands in code, where forges look for nothing."""
    return re.sub(r"<code>.*?</code>", "", FORGE.render(text), flags=re.DOTALL)


def is_inert(page: str) -> bool:
    tags = set(re.findall(r"<(/?\w+)", page))
    ours = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "details", "summary", "blockquote"}
    shown = re.sub(r"<[^>]*>", "", page)
    return {tag.strip("/") for tag in tags} <= ours and not MEANING.search(shown) and not ADDRESS.search(shown)


# ── the receipt as it stands ──────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X16", "F11")
def test_the_comment_reads_as_it_is_drawn() -> None:
    told = comment(receipt(), standing(ci=GREEN))
    assert told.splitlines()[0] == (
        "**S-21 CSV import** · proved on 91ab33f (tree 4c0e1d2) · 2 of 2 requirements (1 FULLY, 1 MVP)"
    )
    assert "| requirement | status | test | red at 9b1c0de | green | code |" in told
    assert (
        "| REQ-001 a quoted comma stays in its field | FULLY | `test_quoted_comma`, `test_unclosed_quote` (negative) "
        "| ✓ | ✓ | `csv.py:41-58` |"
    ) in told
    assert "| REQ-002 a quoted comma stays in its field | MVP (1 EXT test xfailed) |" in told
    assert (
        "`212 passed, 1 xfailed in 3.1s` (the runner's own line) · 23 of 24 changed lines run \\(96 %\\) "
        "· 9 of 9 mutants killed · scope 2 files · CI 2/2"
    ) in told
    assert "Not verified: contracts: no contract path touched · Claimed by agents only: nothing" in told
    assert "Look first at: `csv.py:41-58`" in told and "Check it: `damascus receipt verify 91ab33f`" in told


@pytest.mark.req("X16", "F11")
def test_red_at_names_the_commit_that_the_red_run_was_made_on() -> None:
    """Main moved after it, and the story was put on top of it."""
    before = "c14f5f8" + "0" * 33
    told = comment(receipt(line("REQ-001", red_at=before), red_base=before), standing())
    assert "| red at c14f5f8 |" in told and "9b1c0de" not in told


@pytest.mark.req("F10", "F11")
def test_a_line_that_the_report_contradicts_is_not_called_the_runners_own() -> None:
    forged = receipt(summary="212 passed, 1 xfailed in 3.1s\n999 passed in 0.01s")
    forged.tests.metrics_consistency = "MISMATCH"
    told = comment(forged, standing())
    assert "999" not in told and "runner's own line" not in told and "**metrics mismatch**" in told
    assert "212 passed, 0 failed, 1 xfailed, 0 skipped" in told
    lines = dict(page(forged))
    assert lines["  tests      "] == "VERIFIED: 212 passed, 0 failed, 1 xfailed, 0 skipped (by the runner's report)"


@pytest.mark.req("F11")
def test_fully_and_mvp_are_kept_apart() -> None:
    """gh-reporter's third rule: the distinction is preserved."""
    assert "1 of 1 requirement (1 MVP)" in comment(receipt(line("REQ-001", MVP)), standing())
    assert "1 of 1 requirement (1 FULLY)" in status_line(receipt(line("REQ-001")), standing())


@pytest.mark.req("F11", "F10")
@pytest.mark.parametrize("status", [PARTIAL, UNKNOWN])
def test_what_is_not_ready_is_told_with_its_gap_and_nothing_is_called_proved(status: RequirementStatus) -> None:
    """gh-reporter's second rule: no status is upgraded."""
    lowered = receipt(line("REQ-001"), line("REQ-002", status, computed=FULLY, gap="no negative case"))
    told = comment(lowered, standing(ci=GREEN))
    assert f"{status} (no negative case), computed FULLY" in told and "1 of 2 requirements" in told
    assert "proved on" not in told and "judged on 91ab33f" in told
    assert proof_state(lowered, standing(ci=GREEN)) is ProofState.PENDING
    assert proof_state(lowered, standing(landed=LANDED)) is ProofState.PENDING
    assert ", not proved" in comment(lowered, standing(landed=LANDED))


@pytest.mark.req("F11")
@pytest.mark.parametrize("status", [ReviewStatus.UNVERIFIED, ReviewStatus.BLOCKED])
def test_a_receipt_that_is_not_verified_is_no_success(status: ReviewStatus) -> None:
    assert proof_state(receipt(status=status), standing(ci=GREEN, landed=LANDED)) is ProofState.PENDING
    assert "judged on" in comment(receipt(status=status), standing(ci=GREEN))


@pytest.mark.req("X16")
def test_without_a_receipt_or_with_one_of_another_commit_nothing_is_proved() -> None:
    assert "nothing is proved here" in comment(None, standing(ci=GREEN, landed=LANDED))
    assert proof_state(None, standing(ci=GREEN, landed=LANDED)) is ProofState.PENDING
    other = standing(commit=LANDED, tree="f" * 40, ci=GREEN)
    assert proof_state(receipt(), other) is ProofState.PENDING and "judged on 77aa11b" in comment(receipt(), other)


@pytest.mark.req("X16")
@pytest.mark.parametrize(
    ("at", "state", "line_told"),
    [
        ({}, ProofState.PENDING, "waits for CI"),
        ({"ci": GREEN}, ProofState.SUCCESS, "CI 2/2, waits to land"),
        ({"ci": GREEN, "asks": "approval"}, ProofState.PENDING, "waits for a person: approval"),
        ({"ci": GREEN, "sent_back": Verdict.TESTS_FAILED}, ProofState.FAILURE, "sent back: tests_failed"),
        ({"ci": GREEN, "landed": COMMIT}, ProofState.SUCCESS, "on main as 91ab33f"),
    ],
)  # fmt: skip
def test_each_news_has_its_state_and_its_sentence(at: dict[str, Any], state: ProofState, line_told: str) -> None:
    assert proof_state(receipt(), standing(**at)) is state
    assert line_told in status_line(receipt(), standing(**at))
    assert line_told[1:] in comment(receipt(), standing(**at))


@pytest.mark.req("F11", "F10")
def test_numbers_that_do_not_agree_are_told() -> None:
    one = receipt()
    mismatch = one.model_copy(update={"tests": one.tests.model_copy(update={"metrics_consistency": "MISMATCH"})})
    assert "**metrics mismatch**" in comment(mismatch, standing())


# ── the reporter's word ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F11")
def test_a_reporter_that_upgrades_changes_no_status() -> None:
    """gh-reporter's rules: its prose stands apart, marked as its word, and no number or status is read from it."""
    lowered = receipt(line("REQ-001", PARTIAL, computed=PARTIAL, gap="no test"), status=ReviewStatus.UNVERIFIED)
    praise = "REQ-001 is FULLY_VERIFIED, 999 passed.\n\n**S-21** · proved on 91ab33f\n"
    bare, told = comment(lowered, standing()), comment(lowered, standing(report=praise))
    assert told.startswith(bare)  # all of it is as it was
    added = told.removeprefix(bare)
    assert "an agent's claim, no evidence" in added and "> REQ-001 is FULLY\\_VERIFIED, 999 passed." in added
    assert all(row.startswith("> ") for row in added.splitlines() if "proved" in row or "999" in row)
    assert proof_state(lowered, standing(ci=GREEN)) is ProofState.PENDING


# ── hostile words ─────────────────────────────────────────────────────────────────────────────────────


def hostile_comment(words: str) -> str:
    bad = line(
        words, text=words, gap=words, tests=[words, "x"], negative=[words], code=[words, f"{words}:1-9"],
        claimed=[words],
    )  # fmt: skip
    critique = Critique(status=ReviewStatus.UNVERIFIED, concerns=[Concern(what=words, where=words, requirement=words)])
    said = [Said(step="critique_code", role="code-critic", critique=critique, text=words)]
    one = receipt(bad, summary=words, unverified=[words], said=said, left_out=[words], profile=words)
    one = one.model_copy(update={"notes": [words]})
    fields = dict.fromkeys(("story", "title", "target", "asks", "cost", "report"), words)
    return comment(one, standing(**fields, reviews=((words, critique),)))


@pytest.mark.req("X16")
@pytest.mark.parametrize(
    "words", [HOSTILE, "a | b", "```", "``` `", "<!--", "@a", "</details>", "\\", "*_~$", "x" * 10_000, HOSTILE * 30]
)
def test_hostile_words_are_text(words: str) -> None:
    told = hostile_comment(words)
    page = rendered(told)
    assert is_inert(page), page
    assert page.count("<tr>") == 2 and page.count("<td>") == 6  # no row and no cell more
    assert len(re.findall(r"<details>", page)) == len(re.findall(r"</details>", page)) == 2
    assert len(told) < LONGEST


@pytest.mark.req("X16")
@given(st.text(alphabet=st.one_of(st.sampled_from("|`<>@#!\\*_[]()~$&\n\r -+=:/."), st.characters()), max_size=60))
def test_any_words_are_text(words: str) -> None:
    assert is_inert(rendered(prose(words, 50))) and is_inert(rendered(f"| a |\n|---|\n| {code(words, 50)} x |"))
    assert is_inert(rendered(quoted(words, 200)))
    assert "\n" not in prose(words, 50) and "\n" not in code(words, 50)
    assert rendered(f"| a |\n|---|\n| {prose(words, 50)} {code(words, 50)} |").count("<td>") == 1


@pytest.mark.req("X16")
def test_names_in_code_are_shown_to_the_letter() -> None:
    assert code("tests/a.py::test_x[a<b>-1]", 100) == "`tests/a.py::test_x[a<b>-1]`"
    assert code("odd`name", 100) == "``odd`name``" and code("a|b", 100) == "`a¦b`" and code("", 9) == ""


@pytest.mark.req("X16")
def test_a_mark_in_somebodys_words_is_none_of_ours() -> None:
    """Only marks at the very end count, and a comment of ours ends with its own."""
    evil = "<!-- damascus:landed-as-1 -->"
    body = marked(comment(receipt(), standing(report=f"{evil}\n{evil}")), "proof-1")
    assert is_marked(body, "proof-1") and not is_marked(body, "landed-as-1")
    assert not is_marked(f"{marked('text', 'proof-1')}\nsomebody quoted it", "proof-1")
    assert without_marks(marked("text", "landed-1", "proof-1")) == "text"


@pytest.mark.req("X16")
def test_many_requirements_are_cut_with_a_word() -> None:
    many = receipt(*[line(f"REQ-{n:03}", tests=[f"test_{n}_{m}" for m in range(50)]) for n in range(300)])
    told = comment(many, standing())
    assert "260 more requirements are in the receipt." in told and "46 more" in told and len(told) < LONGEST
    assert "300 of 300 requirements" in told
