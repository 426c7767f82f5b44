"""Why go test leaves a file out: its suffix or a build tag, where the project uses the same elsewhere."""

import re
from pathlib import PurePosixPath

from damascus.domain.ports import Candidate
from damascus.stacks.go.source import CONSTRAINT

SUFFIX = re.compile(r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1"
                    r"|windows|386|amd64|arm|arm64|loong64|mips|mips64|mips64le|mipsle|ppc64|ppc64le|riscv64|s390x|wasm)"
                    r"(?=_test\.go$|\.go$|_)")  # fmt: skip


def explains(candidate: Candidate, path: str, source: bytes) -> str:
    return "a build constraint that the project uses elsewhere" if _as_others_are(candidate, path, source) else ""


def _as_others_are(candidate: Candidate, path: str, source: bytes) -> bool:
    """Is it hidden in a way that its package or the base knows: code of the same suffix, files of the same tag?"""
    suffixes = set(SUFFIX.findall(path))
    constraint = CONSTRAINT.search(source.decode("utf-8", "replace"))
    folder = PurePosixPath(path).parent
    old = [each for each in candidate.files(candidate.base) if each.endswith(".go")][:5000]
    if suffixes and any(SUFFIX.search(each) and set(SUFFIX.findall(each)) >= suffixes for each in old):
        return True
    now = [each for each in candidate.files(candidate.commit) if each.endswith(".go") and not each.endswith("_test.go")]
    if suffixes and any(PurePosixPath(each).parent == folder and set(SUFFIX.findall(each)) >= suffixes for each in now):
        return True
    return constraint is not None and any(
        constraint[0].encode() in (candidate.read(candidate.base, each) or b"")[:5000] for each in old[:500]
    )
