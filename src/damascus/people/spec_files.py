"""Spec files at the door of the queue: read, checked against main, and what only deserves a warning."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from damascus import stacks
from damascus.app import Project
from damascus.domain.config import Config
from damascus.domain.errors import UsageError
from damascus.domain.scope import GLOB_CHARS, Scope, parse_scope
from damascus.domain.spec import UNREAD, Spec, read_spec
from damascus.git.repository import Repository
from damascus.people.held_out import packed
from damascus.people.new_specs import MARK, marks
from damascus.settings_on_main import read_settings
from damascus.store.queueing import NewStory

NOTHING = "Nothing was queued."
SPEC_LIMIT = 1_000_000


@dataclass(frozen=True)
class Ground:
    """What a spec is checked against: the repository and the rules of its main. A fresh clone has it too."""

    repository: Repository
    main: str
    config: Config
    worktrees: Path | None = None

    @classmethod
    def of(cls, project: Project) -> "Ground":
        return cls(project.repository, project.row.main_branch, project.config, project.worktrees)

    @classmethod
    def of_clone(cls, repository: Repository, environ: Mapping[str, str]) -> "Ground":
        """Of a repository that is no project here."""
        settings = read_settings(repository, environ)
        return cls(repository, settings.main, settings.config)

    def place(self, path: Path) -> str:
        """Relative to the repository where it lies inside it, else absolute."""
        whole, top = path.resolve(), self.repository.top.resolve()
        return whole.relative_to(top).as_posix() if whole.is_relative_to(top) else str(whole)

    def kinds(self, paths: list[str]) -> dict[str, str]:
        """What main has at each path: tree, blob, or nothing that we know."""
        tip = self.repository.tip(self.main)
        asked = "".join(f"{tip}:{path}\n" for path in paths)
        told = self.repository.git.out("cat-file", "--batch-check=%(objecttype)", data=asked.encode()) if paths else ""
        return dict(zip(paths, told.splitlines(), strict=True))

    def listing(self) -> list[str]:
        tip = self.repository.tip(self.main)
        return self.repository.git.out("ls-tree", "-r", "-z", "--name-only", tip).split("\0")


def shown(name: str) -> str:
    """As the person typed it, without what says nothing."""
    return os.path.normpath(name)


def story_of(ground: Ground, name: str, *, rough: bool) -> NewStory:
    """The whole file, or its first problem."""
    story, problems = examined(ground, name, rough=rough)
    if story is None or problems:
        raise UsageError(problems[0] if NOTHING in problems[0] else f"{problems[0]} {NOTHING}")
    return story


def examined(ground: Ground, name: str, *, rough: bool) -> tuple[NewStory | None, list[str]]:
    """The story of a file and everything that is wrong with it; None where too little could be read of it."""
    try:
        raw = _read(name)
    except UsageError as err:
        return None, [str(err)]
    return judged(ground, name, raw, rough=rough)


def judged(ground: Ground, name: str, raw: bytes, *, rough: bool) -> tuple[NewStory | None, list[str]]:
    """The same of bytes that were read."""
    spec, problems = read_spec(raw, shown(name), rough=rough)
    if spec is None or not spec.story:
        return None, problems
    acceptance = None
    try:
        if spec.scope is not None and UNREAD not in spec.scope.patterns:
            spec = replace(spec, scope=_checked_scope(ground, spec, name))
        acceptance = packed(ground, Path(shown(name)), spec.acceptance) if spec.acceptance else None
    except UsageError as err:
        problems = [*problems, str(err)]
    return NewStory(spec, raw, ground.place(Path(name)), acceptance, rough, shown(name)), problems


def _read(name: str) -> bytes:
    path, told = Path(name), shown(name)
    try:
        if path.is_dir():
            raise UsageError(f"{told} is a folder. Name the spec files in it: damascus add {told}/*.md. {NOTHING}")
        if path.exists() and not path.is_file():  # a pipe would keep us waiting, a device may have no end
            raise UsageError(f"{told} is no plain file. Name a spec file. {NOTHING}")
        with path.open("rb") as file:
            raw = file.read(SPEC_LIMIT + 1)
    except FileNotFoundError:
        raise UsageError(f"{told} does not exist. Check the name. {NOTHING}") from None
    except (OSError, ValueError) as err:
        raise UsageError(f"{told} can't be read: {getattr(err, 'strerror', None) or err}. {NOTHING}") from None
    if len(raw) > SPEC_LIMIT:
        raise UsageError(f"{told} is larger than {SPEC_LIMIT // 1_000_000} MB, too large for a spec. {NOTHING}")
    return raw


def refuse_named_twice(names: Sequence[str]) -> None:
    twice = next(named_twice(names), None)
    if twice is not None:
        raise UsageError(f"{twice} {NOTHING}")


def named_twice(names: Sequence[str]) -> Iterator[str]:
    seen: dict[Path, str] = {}
    for name in names:
        first = seen.setdefault(Path(name).resolve(), name)
        if first is not name:
            also = "" if shown(first) == shown(name) else f", as {shown(first)} too"
            yield f"{shown(name)} is named twice{also}. Name it once."


def _checked_scope(ground: Ground, spec: Spec, name: str) -> Scope:
    """A folder of main that was written without its slash is a folder; the spec itself is nobody's to write."""
    assert spec.scope is not None
    patterns, path = list(spec.scope.patterns), ground.place(Path(name))
    plain = [p for p in patterns if not p.endswith("/") and not GLOB_CHARS.search(p)]
    folders = {p for p, kind in ground.kinds(plain).items() if kind == "tree"}
    try:
        return parse_scope([f"{p}/" if p in folders else p for p in patterns], protected=(path,))
    except UsageError as err:
        told = str(err).replace(f"covers {path},", f"covers {shown(name)},")
        raise UsageError(f"{shown(name)}: {told} {NOTHING}") from None


# ── warnings ──────────────────────────────────────────────────────────────────────────────────────────


def warnings(ground: Ground, stories: list[NewStory]) -> list[str]:
    """What is probably a slip, and may be meant."""
    whole = [s for s in stories if s.spec.scope is not None and UNREAD not in s.spec.scope.patterns]
    folders = {p: _folder(p) for story in whole if story.spec.scope for p in story.spec.scope.patterns}
    kinds = ground.kinds(sorted({folder for folder in folders.values() if folder}))
    listing = ground.listing() if whole else []
    said = [_unsaid(story, lines) for story in stories if (lines := marks(story.raw))]
    for story in whole:
        assert story.spec.scope is not None
        absent = {folders[p]: p for p in story.spec.scope.patterns if folders[p] and kinds[folders[p]] != "tree"}
        said += [_no_folder(story, ground.main, folder, pattern) for folder, pattern in absent.items()]
        if story.spec.kind == "feature" and not _holds_tests(story.spec.scope, listing, ground.config.test.patterns):
            said.append(
                f"{story.name}: no path of its scope is a test's, and a feature must bring a test that fails without "
                "it. Add one to the scope (tests that lie elsewhere: [test] patterns), or say kind: refactor or docs."
            )
    return said


def _unsaid(story: NewStory, lines: list[str]) -> str:
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(lines)}"
    return (
        f"{story.name}: {MARK} still stands in {where}, and an agent takes the spec as it is. Say there what you want. "
        f"A story that is queued already: damascus cancel {story.spec.story}, then add it again."
    )


def _no_folder(story: NewStory, main: str, folder: str, pattern: str) -> str:
    of = "" if pattern.rstrip("/") == folder else f" (scope {pattern})"
    return f"{story.name}: {main} has no folder {folder}{of}. If the story is not meant to make it, correct the scope."


def _folder(pattern: str) -> str:
    """The folder that a pattern counts on; empty for a name at the top."""
    glob = GLOB_CHARS.search(pattern)
    return (pattern[: glob.start()] if glob else pattern).rpartition("/")[0]


def _holds_tests(scope: Scope, listing: list[str], patterns: list[str]) -> bool:
    """Could a test be written here: by the paths' names, by the tests that main has there, or by the stack's habit?"""
    if any(stacks.is_test(_sample(p), patterns) or stacks.tests_in_code(p) for p in scope.patterns):
        return True
    wide = [p for p in scope.patterns if p.endswith("/") or GLOB_CHARS.search(p)]
    if wide and any(stack.tests_beside for stack in stacks.detect(listing)):
        return True
    return any(scope.allows(path) and stacks.is_test(path, patterns) for path in listing if wide)


def _sample(pattern: str) -> str:
    """A path that the pattern covers, as its name suggests."""
    path = pattern.replace("**", "x").replace("*", "x").replace("?", "x")
    return f"{path}x" if path.endswith("/") else path
