"""damascus inbox: what only a person can decide."""

from typing import Annotated

import typer

from damascus.app import Project
from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import columns, next_step, say, styled, wrapped
from damascus.domain import recovery
from damascus.people import questions
from damascus.store.db import Row
from damascus.telling import asked
from damascus.telling.phrases import in_parts, listed, one_line
from damascus.telling.story import tests_word


def inbox(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The questions that only a person can answer, the most urgent first.

    \b
    Example:  damascus inbox
    """
    db, project = opened()
    found = questions.open_questions(db, project)
    if as_json:
        print_json({"issues": [questions.published(issue) for issue in found]})
        return
    for issue in found:
        _say(issue, project)
    if not found:
        say("Nothing needs you.")
    next_step(asked.command(found[0]) if found else "damascus status")


def _say(issue: Row, project: Project) -> None:
    story = issue["story_id"]
    about, named = (f"{one_line(issue['title'])}{_state(issue)}", f"{story}  ") if story else ("the project", "")
    head = wrapped(about, "    ", first=f"{issue['id']}  {named}")
    say(head.replace(str(issue["id"]), styled(str(issue["id"]), "bold"), 1))
    question, diff = in_parts(issue["question"])
    say(wrapped(f"asks: {question}", "    "))
    for line in diff:
        say(f"      {line}".rstrip())
    for n, text in enumerate(issue["options"], 1):
        option = recovery.option_of(text, story=story is not None)
        known = f" ({option.effect})" if option.id else ""
        say(wrapped(f"[{n}] {text}{known}", "    "))
    for concern in issue["concerns"] or []:
        say(wrapped(f"its agent notes: {one_line(concern)}", "    "))
    _say_acts(asked.in_words(issue), f"look: damascus show {story}{_kept_at(project, story)}" if story else "")


def _say_acts(answer: str, look: str) -> None:
    """On one line where there is room."""
    together = f"    {answer}{' ' * 8 if look else ''}{look}"
    if len(together) < columns():
        say(together)
        return
    for each in (answer, look):
        say(wrapped(each, "    "))


def _state(issue: Row) -> str:
    failing = (issue["last_feedback"] or {}).get("failing_tests") or []
    tries = (
        f" · {issue['phase']} after {issue['attempts']} of {issue['budget_cycles']} tries" if issue["attempts"] else ""
    )
    return tries + (f", {tests_word(issue['last_verdict'])}: {listed(failing, 2)}" if failing else "")


def _kept_at(project: Project, story: str) -> str:
    workspace = project.worktrees / story
    return f", workspace kept at {workspace}" if workspace.exists() else ""
