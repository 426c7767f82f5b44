"""Test modules are found in Rust's sources whatever stands in texts, comments and characters."""

import pytest

from damascus.stacks.rust.inner_tests import UnreadableRust, items_of_tests, on_base, with_tests_of
from damascus.stacks.rust.source import read

CODE = "pub fn one() -> i32 {\n    1\n}\n"
TESTS = """\
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn it() {
        assert_eq!(one(), 1);
    }
}
"""
NOISE = """\
// a comment with { and #[cfg(test)]
/* a block /* inside */ with { */
pub fn noise<'a>(text: &'a str) -> String {
    let _brace = '{';
    let _quote = '\\'';
    let _texts = ("{ \\" {", r#"{ " {"#, b"{", '\\u{7b}');
    format!("{{{}", text)
}
"""


@pytest.mark.req("D7")
def test_the_bases_module_takes_the_place_of_the_candidates() -> None:
    weak = TESTS.replace("assert_eq!(one(), 1)", "let _ = one()")
    now = with_tests_of(NOISE + CODE + TESTS, weak + NOISE + CODE.replace("1\n", "2\n"))
    assert now is not None
    assert "let _ = one()" not in now and now.count("mod tests") == 1 and "    2\n" in now
    assert now.rstrip().endswith(TESTS.rstrip())


def test_other_items_of_tests_go_with_it_and_code_stays() -> None:
    only = '#[cfg(test)]\nuse std::fmt;\n#[cfg(all(test, feature = "x"))]\npub(crate) mod more;\n'
    items = items_of_tests(only + "#[cfg(not(test))]\nfn real() {}\n" + CODE + TESTS)
    assert len(items.spans) == 3 and not items.stray


@pytest.mark.parametrize(
    "base",
    ["mod a {\n" + TESTS + "}\n", CODE + "#[test]\nfn it() {}\n", CODE + "#[cfg(test)]\nmod tests {", 'fn a() { "'],
    ids=["nested", "stray", "open", "text"],
)
def test_what_can_t_be_told_apart_is_said(base: str) -> None:
    with pytest.raises(UnreadableRust):
        with_tests_of(base, CODE)


def test_a_source_without_tests_has_nothing_to_put_back() -> None:
    assert with_tests_of(NOISE + CODE, CODE) is None


def test_a_test_that_gives_an_error_back_can_fail() -> None:
    """⚑ without a macro of assertions it was taken for an empty one."""
    gives = '#[test]\nfn it() -> Result<(), String> {\n    if one() == 1 { Ok(()) } else { Err("two".into()) }\n}\n'
    assert read(gives).tests["it"].can_fail
    assert not read(gives.replace('Err("two".into())', "Ok(())")).tests["it"].can_fail


@pytest.mark.req("D7")
def test_a_module_of_a_new_file_is_declared_on_the_base_and_no_other() -> None:
    assert on_base("pub mod a;\nmod b;\n" + CODE, CODE, ["a"]) == CODE + "\npub mod a;\n"
    assert on_base(CODE, CODE, ["a"]) is None
