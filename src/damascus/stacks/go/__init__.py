"""Go: go test."""

import re
from pathlib import Path

from damascus.stacks.go.habits import HABITS
from damascus.stacks.stack import (
    CheckSettings,
    CompiledLibrary,
    Fetched,
    Footprint,
    Later,
    Recipe,
    Reporting,
    Runner,
    Stack,
    Toolchain,
    paths,
    word,
)

HERE = Path(__file__).parent
ROOM = "damascus.stacks.go"

TOOLCHAIN = Toolchain(
    programs=("go",),
    find_themselves=("GOROOT",),
    fetched=(Fetched("GOMODCACHE", "go/pkg/mod", "cache"),),
    caches={"GOCACHE": "go-build"},
    judged={"GOFLAGS": "-count=1"},
    of_the_run=("GOCACHE",),
    versions=(("go", "version"),),
    compiled=CompiledLibrary("go", "GOCACHE", Later(f"{ROOM}.library:standard_library")),
)

BUILD = Recipe(
    "go",
    (".go",),
    ("go.mod", "go.work"),
    ("build", "-o", "/dev/null", "./..."),
    environment={"GOCACHE": "{cache}/go", "GOPROXY": "off", "GOTOOLCHAIN": "local"},
)

STACK = Stack(
    name="go",
    roots=("go.mod", "go.work"),
    extensions=(".go",),
    tests=paths(r"[^/]*_test\.go", r"testdata/.*"),
    judges=paths(r"\.golangci\.[^/]*"),
    command=lambda listing: "go test -v ./...",
    file_command=Later(f"{ROOM}.file_command:file_command"),
    read=Later(f"{ROOM}.source:read"),
    written=lambda name: name.partition("/")[0],
    footprint=Footprint(lock_files=("go.sum", "go.mod", "go.work"), package_marks=("modules.txt",)),
    toolchain=TOOLCHAIN,
    install=(
        (
            r"no required module provides package|cannot find module providing|missing go\.sum entry",
            lambda listing: "go mod download",
        ),
    ),
    commands=Later(f"{ROOM}.commands:commands"),
    check_settings=CheckSettings(own=paths(r"\.golangci\.[^/]*")),
    compiler=BUILD,
    runners=(
        Runner(
            "go",
            line=re.compile(r"^(?:ok|FAIL|\?)[ \t]{1,20}\S{1,500}[ \t]{1,20}\S[^\n]{0,300}$", re.M),
            leaves_out=("-run", "-skip", "-test.run", "-bench", "-fuzz"),
            covers=Later(f"{ROOM}.cases:covers"),
            summary=Later(f"{ROOM}.printed:go_summary"),
        ),
    ),
    named=re.compile(word(r"go[ \t]+(?:-C[ \t]+\S+[ \t]+)?test")),
    how="start it as `go test`, not by an absolute path",
    reporting=Reporting(files=(HERE / "runner/go_test.py",), programs={"go": "go_test"}),
    habits=HABITS,
    cases=Later(f"{ROOM}.cases:CASES"),
    canaries=Later(f"{ROOM}.canaries:GO"),
    mutants=Later(f"{ROOM}.functions:MUTANTS"),
    mutation_tool=Later(f"{ROOM}.gremlins:GREMLINS"),
    coverage=Later(f"{ROOM}.coverage:COVERAGE"),
    awareness=Later(f"{ROOM}.awareness:references"),
    own_code=Later(f"{ROOM}.own_code:OWN_CODE"),
)
