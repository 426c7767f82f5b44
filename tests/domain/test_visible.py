"""Text that nobody can see is no text: no reason, no words of an answer."""

import unicodedata

import pytest

from damascus.domain import recovery
from damascus.domain.critique import Concern, Critique, ReviewStatus
from damascus.domain.errors import UsageError
from damascus.domain.visible import UNSEEN, visible
from damascus.engine.agent_step.results import sentences
from damascus.writes.person import parsed

NOTHING = ["", " \n\t", "\u200b\u200b\u2060\ufeff", "\u3164", "\u115f\u1160\uffa0", "\u00ad", "\u202e \u2066", "\u2800",
           "\U000e0041\U000e007f", "\ufe0f", "\x00\x1b\x7f\x9b", "\ue000", "\u0378", "\u2028"]  # fmt: skip


@pytest.mark.parametrize("text", NOTHING, ids=ascii)
def test_what_nobody_sees_says_nothing(text: str) -> None:
    assert visible(text) == ""
    assert visible(f"{text}.") != ""


SEEN = ["x", "\u00e9", "e\u0301", "0", "-", "\u2713", "\u4f60\u597d", "\u0627", "\U0001f600"]


@pytest.mark.parametrize("text", SEEN, ids=ascii)
def test_one_character_that_is_seen_says_something(text: str) -> None:
    assert visible(f" {text}\u200b\n") == f"{text}\u200b"


def test_every_format_character_is_unseen_but_those_that_are_drawn() -> None:
    every = (chr(number) for number in range(0x110000))
    drawn = {each for each in every if unicodedata.category(each) == "Cf" and not UNSEEN.match(each)}
    names = {unicodedata.name(each).split()[0] for each in drawn}
    assert names <= {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"}


@pytest.mark.req("D18", "F4")
@pytest.mark.parametrize("text", NOTHING, ids=ascii)
def test_a_review_of_nothing_that_can_be_read_is_none(text: str) -> None:
    assert Critique(status=ReviewStatus.VERIFIED, summary=text).unreadable == "VERIFIED without a reason"
    silent = Critique(status=ReviewStatus.UNVERIFIED, concerns=[Concern(what=text)])
    assert silent.unreadable == "UNVERIFIED without a concern"
    assert Critique(status=ReviewStatus.BLOCKED, missing=[text]).unreadable == "BLOCKED without saying what is missing"


@pytest.mark.req("D15")
@pytest.mark.parametrize("text", NOTHING, ids=ascii)
def test_words_of_an_answer_that_nobody_sees_are_none(text: str) -> None:
    choice = recovery.chosen([recovery.SEND_BACK], f"send_back {text}", 5)
    assert choice.words == ""
    with pytest.raises(UsageError, match="needs your words too"):
        recovery.needed(choice, 5)
    with pytest.raises(UsageError, match="says nothing"):
        recovery.chosen([recovery.RETRY], text, 5)
    assert sentences([text, "x"]) == ["x"]
    refused = parsed(f"reject: {text}")
    assert refused is not None and refused.reason == ""
