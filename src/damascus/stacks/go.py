"""Go: go test. Without -v it prints no counts, so the default command asks for them."""

import re
from collections.abc import Collection

from damascus.stacks.stack import Stack, WrittenFile, paths
from damascus.stacks.words import Words, read_words

WORDS = Words(
    head=re.compile(r"^func (?P<name>(?:Test|Fuzz|Example)\w*)\(", re.MULTILINE),
    skips=re.compile(r"\.(?:Skip|Skipf|SkipNow)\(|^//go:build|^// \+build|\btesting\.Short\(", re.MULTILINE),
    asserts=re.compile(r"\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Run)\(|\b(?:assert|require|is)\.\w+\(|\bpanic\("),
    comment="// ",
)


def command(listing: Collection[str]) -> str:
    return "go test -v ./..."


def read(source: str) -> WrittenFile:
    return read_words(source, WORDS)


STACK = Stack(
    name="go",
    roots=("go.mod", "go.work"),
    extensions=(".go",),
    tests=paths(r"[^/]*_test\.go", r"testdata/.*"),
    judges=paths(r"\.golangci\.[^/]*"),
    command=command,
    read=read,
)
