"""damascus show: one story, its numbers and what happened step by step."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli import claims
from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, table, wrapped

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.engine.returned import Returned
    from damascus.store.db import Row
    from damascus.store.views import StoryRow


def show(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """One story: its row, its questions, and what happened step by step.

    \b
    Example:  damascus show S-21
    """
    from damascus.cli.costs import of_story, story_line
    from damascus.store import spending, views

    app, project = app_for(story)
    db = app.database
    row = views.story_row(db, project.row, story)
    whole = views.whole_row(db, project.row, story)
    steps, issues = views.journal(db, row.id), views.issues(db, row.id)
    spent = spending.of_story(db, row.id)
    came = _returned(project, row, whole, steps)
    missing = claims.not_on_main(app, project) if row.phase == "done" else {}
    row = claims.marked(row, missing)
    if as_json:
        more: dict[str, Any] = {
            "cost": of_story(spent),
            "dispatches": spent,
            "returned": came.model_dump() if came else None,
            "concerns": _concerns(steps),
        }
        more |= {"on_main": row.story_id not in missing if row.phase == "done" else None}
        print_json({**_published(row, whole, steps, issues), **more})
        return
    say(wrapped(row.title, "  ", first=f"{row.story_id}  "))
    _say_facts(row, whole, project)
    if row.story_id in missing:
        say(wrapped(f"! {claims.told({row.story_id: missing[row.story_id]}, project.row.main_branch)}"))
    if came is not None:
        _say_fact("returned", came.summary)
    _say_fact("cost", story_line(spent))
    _say_feedback(row)
    for concern in _concerns(steps):
        say(wrapped(f"its agent notes: {concern}", "  "))
    _say_issues(issues)
    _say_steps(steps)
    next_step(f"damascus why {row.story_id}, damascus logs {row.story_id}, damascus receipt {row.story_id}")


def _returned(project: "Project", row: "StoryRow", whole: "Row", steps: "list[Row]") -> "Returned | None":
    """What the worker came back with, by git's and CI's word (W12); None while there is no candidate."""
    from damascus.domain.ids import Sha
    from damascus.domain.ports import CiRun
    from damascus.engine.returned import returned

    if not whole["candidate"] or not row.base_commit:
        return None
    said = [step["output"] for step in steps if step["step"] == "ci" and step["status"] == "done"]
    ci = CiRun.model_validate(said[-1]) if said else None
    return returned(project.mirror, Sha(row.base_commit), Sha(whole["candidate"]), ci, project.config.test.patterns)


def _published(row: "StoryRow", whole: "Row", steps: "list[Row]", issues: "list[Row]") -> dict[str, Any]:
    from damascus.cli.status import item

    kept = ("spec_path", "spec_hash", "file_scope", "candidate", "run_no", "claims", "rescues", "priority", "rough",
            "answers", "created_at", "first_attempted_at", "resume_phase")  # fmt: skip
    more = {"tries": row.tries, **{key: whole[key] for key in kept}}
    return {**item(row), **more, "spec": bytes(whole["spec"]), "steps": steps, "issues": issues}


def _say_facts(row: "StoryRow", whole: "Row", project: "Project") -> None:
    from damascus.cli.now import now, tries
    from damascus.cli.words import between, plural, pull
    from damascus.domain.ids import short

    facts = [
        ("phase", f"{row.phase} ({row.status}): {now(row)}"),
        ("try", f"{tries(row)}, {plural(row.claims, 'claim')}, run {row.run_no}"),
        ("scope", ", ".join(row.file_scope) or "not yet known"),
        ("spec", f"{whole['spec_path']} ({whole['spec_hash'][:12]})"),
        ("branch", f"{row.branch}, base {short(row.base_commit)}, candidate {short(whole['candidate'])}"),
        ("pull", f"{pull(row.pr_url)} ({row.pr_url})" if row.pr_url else "none yet"),
        ("added", f"{between(row.created_at, row.read_at)} ago"),
    ]
    workspace = project.worktrees / row.story_id
    if workspace.exists():
        facts.append(("workspace", str(workspace)))
    for name, value in facts:
        _say_fact(name, value)


def _say_fact(name: str, value: str) -> None:
    say(wrapped(value, " " * 13, first=f"  {name:<10} "))


def _concerns(steps: "list[Row]") -> list[str]:
    """What the last agent says of its own work that a person should know: claims, never evidence."""
    told = [s["output"] for s in steps if s["step"] == "implement" and isinstance(s["output"], dict)]
    return [str(each) for each in told[-1].get("concerns", [])] if told else []


def _say_feedback(row: "StoryRow") -> None:
    feedback = row.last_feedback or {}
    if row.last_verdict:
        say(wrapped(f"last verdict: {row.last_verdict}. {feedback.get('message') or ''}", "  "))
    for key in ("failing_tests", "requirements", "files_changed", "out_of_scope", "touches_stories"):
        if feedback.get(key):
            say(wrapped(f"{key.replace('_', ' ')}: {', '.join(feedback[key])}", "  "))


def _say_issues(issues: "list[Row]") -> None:
    from damascus.cli import asked
    from damascus.cli.words import in_parts

    for issue in issues:
        way = asked.command(issue) if asked.wants_spec(issue) else f"damascus answer {issue['id']} …"
        answer = f"answered: {issue['answer']}" if issue["closed_at"] else f"open: {way}"
        say(wrapped(f"question {issue['id']}: {in_parts(issue['question'])[0]} ({answer})", "  "))


def _say_steps(steps: "list[Row]") -> None:
    from damascus.cli.words import moments

    if not steps:
        say("  no step has been taken yet")
        return
    lines = [
        (f"run {s['run_no']}", s["phase"], s["step"], at, _took(s), _told(s))
        for s, at in zip(steps, moments([s["started_at"] for s in steps]), strict=True)
    ]
    say()
    for line in table(("run", "phase", "step", "at", "took", "came to"), lines, shrink=(5,)):
        say("  " + line)


def _took(step: "Row") -> str:
    from damascus.cli.words import between

    return between(step["started_at"], step["done_at"]) if step["done_at"] else "not done"


def _told(step: "Row") -> str:
    """The part of a step's result that a person looks for."""
    from damascus.cli.words import plural
    from damascus.domain.ids import short

    out = step["output"] if isinstance(step["output"], dict) else {}
    if "results" in out:
        found = [f["message"] for result in out["results"] for f in result.get("findings", [])]
        return found[0] if found else "passed: " + ", ".join(result["gate"] for result in out["results"])
    if "jobs" in out:
        return ", ".join(f"{job['name']} {job['state']}" for job in out["jobs"])
    if out.get("conflicting_files"):
        return "conflict in " + ", ".join(out["conflicting_files"])
    if "files_changed" in out:
        files = plural(len(out["files_changed"]), "file")
        return f"exit {out.get('exit_code')}, {files}, commit {short(out.get('commit'))}"
    for key in ("message", "url", "problem", "commit", "base", "head"):
        if out.get(key):
            value = str(out[key])
            return short(value) if key in ("commit", "base", "head") else value
    return ""
