"""When a running agent is ended, warned or given more time: the rules as properties."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain.config import Config, parse_config
from damascus.domain.money import Granted, Price
from damascus.domain.oversight import Decision, Observed, StepLimits, decide, follow
from damascus.domain.ports import Denial, Usage
from damascus.domain.signs import EndedBy

LIMITS = StepLimits.of(Config(), Granted(), Granted(), None)
SIGNS = ("output", "turn", "write", "api_ok", "accepted", "something new")
MINUTE = 60.0


def seen(*signs: tuple[float, str, dict[str, Any]], limits: StepLimits = LIMITS) -> Observed:
    """What was observed after signs at seconds since the start."""
    state = Observed.begin(limits, 0.0)
    for at, sign, facts in signs:
        state = state.saw(sign, at, facts)
    return state


def busy(until: float, sign: str = "turn", every: float = 30.0) -> list[tuple[float, str, dict[str, Any]]]:
    written: list[tuple[float, str, dict[str, Any]]] = [(1.0, "write", {})]
    return written + [(every * n, sign, {}) for n in range(1, int(until / every) + 1)]


def watched(signs: list[tuple[float, str, dict[str, Any]]], limits: StepLimits, until: float, step: float = 1.0) -> Any:
    """Play signs against the clock, asking every second: (when it ended, why, warnings, extensions)."""
    state, warned, extended, queue = Observed.begin(limits, 0.0), 0, 0, sorted(signs, key=lambda each: each[0])
    now = 0.0
    while now <= until:
        while queue and queue[0][0] <= now:
            at, sign, facts = queue.pop(0)
            state = state.saw(sign, at, facts)
        decision = decide(state, limits, now)
        state = follow(state, decision)
        warned, extended = warned + bool(decision.warn), extended + (decision.extended_to is not None)
        if decision.end:
            return now, decision.end, warned, extended
        now += step
    return now, "", warned, extended


# ── time (W17) ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W17")
def test_the_published_limits_are_the_default() -> None:
    assert (LIMITS.seconds, LIMITS.warn, LIMITS.extend, LIMITS.progress) == (1200.0, 900.0, 300.0, 300.0)
    assert (LIMITS.most, LIMITS.idle, LIMITS.first_write, LIMITS.api_errors) == (3600.0, 600.0, 900.0, 3)


@pytest.mark.req("W17")
def test_without_progress_a_step_is_warned_once_and_ended_at_its_limit() -> None:
    chatter = [(1.0, "write", {}), *[(n * 30.0, "output", {}) for n in range(1, 80)]]
    assert watched(chatter, LIMITS, 4000) == (1200.0, "time", 1, 0)


@pytest.mark.req("W17")
@pytest.mark.parametrize("sign", ["turn", "write", "accepted"])
def test_observed_progress_extends_until_the_end_of_all(sign: str) -> None:
    assert watched(busy(5000, sign, every=120.0), LIMITS, 4000) == (3600.0, "time", 1, 8)


@pytest.mark.req("W17")
def test_a_step_that_stops_to_make_progress_gets_no_further_extension() -> None:
    signs = [*busy(1250), *[(1250 + n * 30.0, "output", {}) for n in range(1, 80)]]
    assert watched(signs, LIMITS, 4000) == (1800.0, "time", 1, 2)


@pytest.mark.req("W17")
def test_a_short_limit_has_its_warning_before_it_and_is_not_cut_by_the_longest() -> None:
    short = StepLimits.of(parse_config("[agent]\ntimeout_seconds = 40.0\n"), Granted(), Granted(), None)
    assert short.warn == 30.0
    long = StepLimits.of(parse_config("[agent]\ntimeout_seconds = 7200.0\n"), Granted(), Granted(), None)
    assert (long.seconds, long.most, long.warn) == (7200.0, 7200.0, 900.0)


signs = st.lists(
    st.tuples(st.floats(0, 5000), st.sampled_from(SIGNS), st.just({"tool": "Bash"})), max_size=40
)  # fmt: skip


@given(signs)
@pytest.mark.req("W17", "W18")
def test_every_step_ends_by_the_hard_limit_and_extensions_never_go_beyond(given_signs: list[Any]) -> None:
    at, why, warned, extended = watched(given_signs, LIMITS, 4000, step=5.0)
    assert at <= LIMITS.most and why in ("time", "idle", "no_write") and warned <= 1
    assert extended <= (LIMITS.most - LIMITS.seconds) / LIMITS.extend


@given(signs, st.floats(0, 4000))
@pytest.mark.req("W17")
def test_an_extension_needs_progress_of_late_and_an_end_by_time_needs_none(given_signs: list[Any], now: float) -> None:
    state = seen(*sorted((each for each in given_signs if each[0] <= now), key=lambda each: each[0]))
    decision = decide(state, LIMITS, now)
    if decision.extended_to is not None:
        assert now - state.last_progress <= LIMITS.progress and now >= state.deadline
        assert state.deadline < decision.extended_to <= LIMITS.most
    if decision.end == "time":
        assert now - state.last_progress > LIMITS.progress or state.deadline >= LIMITS.most
    assert not (decision.end and (decision.warn or decision.extended_to))


# ── stuck (W18) ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W18")
def test_no_sign_of_life_for_over_ten_minutes_is_idle() -> None:
    state = seen((60.0, "write", {}))
    assert decide(state, LIMITS, 60 + 10 * MINUTE) == Decision()
    assert decide(state, LIMITS, 61 + 10 * MINUTE).end == "idle"


@pytest.mark.req("W18")
def test_nothing_written_fifteen_minutes_after_the_start() -> None:
    talk = [(n * 60.0, "turn", {}) for n in range(1, 30)]
    assert watched(talk, LIMITS, 4000)[:2] == (901.0, "no_write")
    assert watched(talk, replace(LIMITS, first_write=0.0), 4000)[1] == "time", "a critic writes nothing"
    assert watched([*talk, (899.0, "write", {})], LIMITS, 4000)[1] != "no_write"


@pytest.mark.req("W18")
def test_more_than_three_api_errors_in_a_row_and_only_in_a_row() -> None:
    error = {"status": 503, "resets_in": None}
    three = [(float(n), "api_error", error) for n in range(3)]
    assert decide(seen(*three), LIMITS, 5.0).end == ""
    assert decide(seen(*three, (4.0, "api_error", error)), LIMITS, 5.0).end == "api_errors"
    for fine in ("api_ok", "turn"):
        assert decide(seen(*three, (4.0, fine, {}), (5.0, "api_error", error)), LIMITS, 6.0).end == ""


@pytest.mark.req("W18", "T1")
def test_a_rate_limit_that_outlasts_an_idle_agent_is_not_waited_for() -> None:
    state = seen((10.0, "api_error", {"status": 429, "resets_in": 3600.0}))
    assert decide(state, LIMITS, 11.0).end == "api_errors" and state.resets_in(11.0) == 3599.0
    soon = seen((10.0, "api_error", {"status": 429, "resets_in": 30.0}))
    assert decide(soon, LIMITS, 11.0).end == ""


@pytest.mark.req("T1")
@pytest.mark.parametrize(("status", "refused"), [(401, True), (400, True), (404, True), (429, False), (408, False),
                                                 (500, False), (503, False), (529, False), (0, False)])  # fmt: skip
def test_a_gateway_that_says_no_is_not_one_that_is_away(status: int, refused: bool) -> None:
    assert seen((1.0, "api_error", {"status": status})).refused is refused


# ── denials (W8) ──────────────────────────────────────────────────────────────────────────────────────


def denied(tool: str, at: float = 1.0) -> tuple[float, str, dict[str, Any]]:
    return (at, "denied", {"denial": Denial(tool=tool, error="not granted", tried=f"{at:g}")})


@pytest.mark.req("W8")
def test_the_same_tool_denied_twice_in_a_row_ends_it() -> None:
    assert decide(seen(denied("Bash")), LIMITS, 2.0).end == ""
    twice = seen(denied("Bash", 1.0), denied("Write", 2.0), denied("Bash", 3.0))
    assert decide(twice, LIMITS, 4.0).end == "denied"
    assert twice.denied == Denial(tool="Bash", error="not granted", tried="3")


@pytest.mark.req("W8")
def test_an_accepted_call_of_that_tool_begins_the_count_anew() -> None:
    def between(tool: str) -> Observed:
        return seen(denied("Bash"), (2.0, "accepted", {"tool": tool}), denied("Bash", 3.0))

    assert decide(between("Bash"), LIMITS, 4.0).end == ""
    assert decide(between("Read"), LIMITS, 4.0).end == "denied"


@pytest.mark.req("W8")
def test_what_was_denied_twice_stays_so_whatever_comes_after() -> None:
    state = seen(denied("Bash"), denied("Bash", 2.0), (2.05, "accepted", {"tool": "Bash"}), denied("Write", 2.06))
    assert decide(state, LIMITS, 2.1).end == "denied" and state.denied is not None and state.denied.tried == "2"


@given(st.lists(st.tuples(st.sampled_from(["denied", "accepted"]), st.sampled_from("ABC")), max_size=12))
@pytest.mark.req("W8")
def test_denied_exactly_when_a_tool_was_denied_twice_without_an_accepted_call_between(calls: list[Any]) -> None:
    history: dict[str, list[str]] = {}
    for kind, tool in calls:
        history.setdefault(tool, []).append(kind)
    expected = any(pair == ("denied", "denied") for told in history.values() for pair in pairwise(told))
    told = [denied(tool, float(n)) if kind == "denied" else (float(n), "accepted", {"tool": tool})
            for n, (kind, tool) in enumerate(calls)]  # fmt: skip
    assert (decide(seen(*told), LIMITS, 13.0).end == "denied") is expected


@pytest.mark.req("W8", "A10")
def test_a_pipeline_that_did_not_answer_ends_it_before_anything_else() -> None:
    state = seen((1.0, "hook_failed", {}), denied("Bash"), denied("Bash"))
    assert decide(state, LIMITS, 9999.0).end == "hook"


# ── use (X5) ──────────────────────────────────────────────────────────────────────────────────────────


def used(**counts: int) -> tuple[float, str, dict[str, Any]]:
    return (1.0, "usage", {"usage": Usage(**counts)})


@pytest.mark.req("X5")
def test_what_single_answers_used_is_added_up_and_held_against_the_limits() -> None:
    limits = replace(LIMITS, tokens=100, turns=2)
    assert decide(seen(used(input_tokens=60, turns=1), used(output_tokens=39, turns=1)), limits, 2.0).end == ""
    assert decide(seen(used(input_tokens=60), used(output_tokens=40)), limits, 2.0).end == "tokens"
    assert decide(seen(*[used(turns=1)] * 3), limits, 2.0).end == "turns"
    assert decide(seen(*[(1.0, "turn", {})] * 2, *[used(turns=1)] * 3), limits, 2.0).end == "", "its own turns count"


@pytest.mark.req("X5")
def test_money_ends_a_step_by_our_own_prices_and_an_unknown_price_at_once() -> None:
    limits = replace(LIMITS, microdollars=1000, price=Price(3.0, 15.0, 0.3))
    assert decide(seen(used(input_tokens=300)), limits, 2.0).end == ""
    assert decide(seen(used(input_tokens=300, output_tokens=7)), limits, 2.0).end == "money"
    assert decide(seen(used(input_tokens=1)), replace(limits, price=None), 2.0).end == "money"
    assert decide(seen(), replace(limits, price=None), 2.0).end == "", "an agent without a model costs nothing"


@given(st.lists(st.sampled_from(["usage", "denied", "api_error", "nonsense"]), max_size=6))
@pytest.mark.req("X5")
def test_signs_with_facts_that_make_no_sense_are_survived(names: list[str]) -> None:
    junk = {"usage": "many", "denial": 3, "status": "bad", "resets_in": "soon", "tool": None}
    state = seen(*[(float(n), name, junk) for n, name in enumerate(names)])
    assert decide(state, LIMITS, 7.0).end in ("", "denied", "api_errors") and state.usage == Usage()


def test_every_word_has_its_reason() -> None:
    words = {"time", "idle", "no_write", "api_errors", "tokens", "turns", "money", "denied", "hook"}
    assert set(EndedBy) - {EndedBy.ITSELF, EndedBy.STOPPED} == words and all(word.means for word in EndedBy)
