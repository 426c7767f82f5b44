"""damascus add: stories enter the queue, all of a command or none."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import columns, message_text, next_step, say

if TYPE_CHECKING:
    from damascus.cli.spec_files import Ground
    from damascus.store.db import Database
    from damascus.store.projects import ProjectRow
    from damascus.store.queueing import Queued


def add(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC…", help="Spec files (docs/spec.md).")],
    rough: Annotated[
        bool, typer.Option("--rough", help="Needs only story and title; the rest is asked for in phase spec.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only look through the files, and tell all that is wrong. Queues nothing.")
    ] = False,
) -> int:
    """Queue stories from spec files, all or none. What is unchanged is skipped.

    A blocked or cancelled story's id replaces its spec; among several files only if its file has changed.

    \b
    Example:  damascus add specs/S-21.md specs/S-22.md
              damascus add --check specs/*.md
    """
    from damascus.cli.spec_files import Ground, refuse_named_twice, story_of, warnings
    from damascus.store import queueing

    if check:
        return _check(specs, rough)
    db, project = opened()
    refuse_named_twice(specs)
    ground = Ground.of(project)
    stories = [story_of(ground, name, rough=rough) for name in specs]
    config = project.config
    prefix, budget = config.project.branch_prefix, config.limits.budget_cycles
    queued = queueing.add(db, project.row, stories, prefix, budget, keep_unchanged=len(specs) > 1)
    new = {one.story_id for one in queued if not one.unchanged}
    _tell("warning", warnings(ground, [story for story in stories if story.spec.story in new]))
    _say_queued(queued, {str(story.spec.story): story.spec.title for story in stories})
    next_step("damascus run" if new else "damascus status")
    return 0


def _say_queued(queued: "list[Queued]", titles: dict[str, str]) -> None:
    from damascus.cli.words import listed, plural

    skipped = [one for one in queued if one.unchanged]
    for one in queued:
        if not one.unchanged:
            became = "replaced" if one.replaced else "queued"
            say(f"{one.story_id}  {titles[one.story_id]}: {became}, phase {one.phase}")
    ended = [one for one in skipped if one.phase in ("blocked", "cancelled")]
    for one in ended:
        cure = f"damascus retry {one.story_id}" if one.phase == "blocked" else "add its file alone to queue it again"
        say(f"{one.story_id}  {titles[one.story_id]}: unchanged and {one.phase}, so it stays that: {cure}")
    rest = [one.story_id for one in skipped if one not in ended]
    if rest:
        say(f"{plural(len(rest), 'story is', 'stories are')} unchanged and skipped: {listed(rest, 10)}")


def _tell(kind: str, texts: list[str]) -> None:
    for text in texts:
        print(message_text(kind, text, columns(sys.stderr) - 1), file=sys.stderr)


# ── --check ───────────────────────────────────────────────────────────────────────────────────────────


def _check(specs: list[str], rough: bool) -> int:
    """Everything that is wrong with every file. Nothing is written, and without a project there is no queue to ask."""
    from damascus.cli.spec_files import NOTHING, examined, named_twice, warnings
    from damascus.cli.words import plural
    from damascus.store import queueing

    ground, queue = _ground()
    looked = [examined(ground, name, rough=rough) for name in dict.fromkeys(specs)]
    stories = [story for story, _ in looked if story is not None]
    errors = [*named_twice(specs), *(text for _, problems in looked for text in problems)]
    known = queueing.named(*queue, stories) if queue else None
    errors += queueing.problems(stories, known)
    _tell("warning", warnings(ground, stories))
    _tell("error", [_without(text, NOTHING) for text in errors])
    if queue is None:
        say("There is no queue of this repository here, so ids and dependencies were compared with these files only.")
    say(f"{plural(len(looked), 'file')} looked at, {plural(len(errors), 'error')}. {NOTHING}")
    next_step("correct them, then damascus add" if errors else "damascus add")
    return 2 if errors else 0


def _without(text: str, words: str) -> str:
    return text.replace(f" {words}", "")


def _ground() -> "tuple[Ground, tuple[Database, ProjectRow] | None]":
    import os
    from pathlib import Path

    from damascus.cli.spec_files import Ground
    from damascus.git.repository import Repository
    from damascus.settings import read_settings

    repository = Repository.discover(Path.cwd())
    if repository.identity()[0] is None:
        settings = read_settings(repository, os.environ)
        return Ground(repository, settings.main, settings.config), None
    db, project = opened()
    return Ground.of(project), (db, project.row)
