"""Source text with its comments and strings blanked out, character for character: what is left is code.

So a word in a string or a comment is no call, and every place found in the blanked text is the same place in the
source. Each expression consumes what it begins with and never tries twice (possessive): linear, whatever is written.
"""

import re

BLOCK = r"/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
LINE = r"//[^\n]*+"
DOUBLE = r'"(?:[^"\\\n]|\\.)*+"?'
SINGLE = r"'(?:[^'\\\n]|\\.)*+'?"
TEMPLATE = r"`(?:[^`\\]|\\.)*+`?"
REGEX = r"(?<=[(,=:\[!&|?{};+*%<>~^])[ \t]{0,20}/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}+\]){0,500}+/?"
JAVASCRIPT = re.compile(f"({BLOCK}|{LINE})|({DOUBLE}|{SINGLE}|{TEMPLATE}|{REGEX})", re.DOTALL)
RAW = r"`[^`]*+`?"
RUNE = r"'(?:[^'\\\n]|\\.){1,12}+'"
GO = re.compile(f"({BLOCK}|{LINE})|({DOUBLE}|{RAW}|{RUNE})", re.DOTALL)
RUST_RAW = r'\br(?P<hashes>#{0,8})"(?:[^"]|"(?!(?P=hashes)))*+(?:"(?P=hashes))?'
RUST_STRING = r'"(?:[^"\\]|\\.)*+"?'
RUST_CHAR = r"'(?:[^'\\\n]|\\[^\n]{1,10}?)'"
RUST = re.compile(f"({BLOCK}|{LINE})|({RUST_RAW}|{RUST_STRING}|{RUST_CHAR})", re.DOTALL)
NOT_NEWLINE = re.compile(r"[^\n]")
LONGEST_GAP = 200


def without_comments_and_strings(source: str, language: re.Pattern[str]) -> str:
    return language.sub(lambda found: blank(found[0]), source)


def without_comments(source: str, language: re.Pattern[str]) -> str:
    return language.sub(lambda found: blank(found[0]) if found[1] else found[0], source)


def blank(text: str) -> str:
    return NOT_NEWLINE.sub(" ", text) if "\n" in text else " " * len(text)
