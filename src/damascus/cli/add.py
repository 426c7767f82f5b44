"""damascus add: stories enter the queue, all of a command or none."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.domain.scope import Scope
    from damascus.domain.spec import Spec
    from damascus.store.queueing import NewStory

NOTHING = "Nothing was queued."
SPEC_LIMIT = 1_000_000


def add(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC…", help="Spec files (docs/spec.md).")],
    rough: Annotated[
        bool, typer.Option("--rough", help="Needs only story and title; the rest is asked for in phase spec.")
    ] = False,
) -> None:
    """Queue stories from spec files, all or none. A blocked or cancelled story's id replaces its spec.

    \b
    Example:  damascus add specs/S-21.md specs/S-22.md
    """
    from damascus.store import queueing

    db, project = opened()
    stories = [_story(project, name, rough) for name in specs]
    config = project.config
    queued = queueing.add(db, project.row, stories, config.project.branch_prefix, config.limits.budget_cycles)
    titles = {str(story.spec.story): story.spec.title for story in stories}
    for one in queued:
        say(f"{one.story_id}  {titles[one.story_id]}: {'replaced' if one.replaced else 'queued'}, phase {one.phase}")
    next_step("damascus run")


def _story(project: "Project", name: str, rough: bool) -> "NewStory":
    from dataclasses import replace

    from damascus.cli.held_out import packed
    from damascus.domain.spec import parse_spec
    from damascus.store.queueing import NewStory

    raw = _read(name)
    spec = parse_spec(raw, name, rough=rough)
    path = _place(project, Path(name))
    if spec.scope is not None:
        spec = replace(spec, scope=_checked_scope(project, spec, name, path))
    acceptance = packed(project, Path(name), spec.acceptance) if spec.acceptance else None
    return NewStory(spec, raw, path, acceptance, rough)


def _read(name: str) -> bytes:
    from damascus.domain.errors import UsageError

    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a folder. Name the spec files in it: damascus add {name}/*.md. {NOTHING}")
        with path.open("rb") as file:
            raw = file.read(SPEC_LIMIT + 1)
    except FileNotFoundError:
        raise UsageError(f"{name} does not exist. Check the name. {NOTHING}") from None
    except (OSError, ValueError) as err:
        raise UsageError(f"{name} can't be read: {getattr(err, 'strerror', None) or err}. {NOTHING}") from None
    if len(raw) > SPEC_LIMIT:
        raise UsageError(f"{name} is larger than {SPEC_LIMIT // 1_000_000} MB, which no spec is. {NOTHING}")
    return raw


def _place(project: "Project", path: Path) -> str:
    """Relative to the repository where it lies inside it, else absolute."""
    whole = path.resolve()
    top = project.repository.top.resolve()
    return whole.relative_to(top).as_posix() if whole.is_relative_to(top) else str(whole)


def _checked_scope(project: "Project", spec: "Spec", name: str, path: str) -> "Scope":
    """A folder of main that was written without its slash is a folder; the spec itself is nobody's to write."""
    from damascus.domain.errors import UsageError
    from damascus.domain.scope import parse_scope

    assert spec.scope is not None
    patterns = list(spec.scope.patterns)
    folders = _folders_on_main(project, patterns)
    try:
        return parse_scope([f"{p}/" if p in folders else p for p in patterns], protected=(path,))
    except UsageError as err:
        raise UsageError(f"{name}: {err} {NOTHING}") from None


def _folders_on_main(project: "Project", patterns: list[str]) -> set[str]:
    from damascus.domain.scope import GLOB_CHARS

    plain = [p for p in patterns if not p.endswith("/") and not GLOB_CHARS.search(p)]
    if not plain:
        return set()
    tip = project.repository.tip(project.row.main_branch)
    asked = "".join(f"{tip}:{pattern}\n" for pattern in plain)
    told = project.repository.git.out("cat-file", "--batch-check=%(objecttype)", data=asked.encode())
    return {p for p, kind in zip(plain, told.splitlines(), strict=True) if kind == "tree"}
