"""damascus write: writes that wait for a person, and writes staged by hand through the same checks."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import coloured, next_step, say, table
from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.store.db import Database
    from damascus.writes.staging import Staged, Staging

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Stage, look at, apply and reject single writes.")
Number = Annotated[int, typer.Argument(metavar="N", min=1, help="The write's number, as in `write list`.")]


@app.command("stage")
def stage(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of this repository to write.")],
    source: Annotated[str, typer.Option("--from", metavar="NEW", help="A file that holds its new content.")],
) -> None:
    """Propose a new content for a file: scanned for secrets now, written only by `write apply`.

    \b
    Example:  damascus write stage src/io.py --from /tmp/io.py
    """
    from damascus.writes.bounds import inside
    from damascus.writes.proposal import Proposal, content
    from damascus.writes.refusal import Refused
    from damascus.writes.staging import Meta

    _, project = opened()
    root = project.repository.top
    try:
        after = content(Path(source))
        if after is None:
            raise UsageError(f"{source} is not there. Name a file with the new content.")
        path = inside(root, os.path.abspath(file))
        proposal = Proposal(path, content(root / path), after)
    except Refused as refused:
        raise DamascusError(f"nothing was staged: {refused.reason}") from None
    _refuse_secret(proposal.path, proposal.before, proposal.after)
    staged = _staging(project).add(Meta(path=path, root=str(root), tool="by hand"), proposal.before, after)
    say(f"Write {staged.meta.n} of {path} is staged.")
    next_step(f"damascus write show {staged.meta.n}")


@app.command("list")
def list_staged(
    everything: Annotated[bool, typer.Option("--all", help="Also those that were decided.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The writes that wait for a person.

    \b
    Example:  damascus write list
    """
    _, project = opened()
    found = [s for s in _staging(project).all() if everything or s.meta.status == "waiting"]
    if as_json:
        print_json({"writes": [_published(staged) for staged in found]})
        return
    if not found:
        say("No write waits for you.")
        next_step("damascus inbox")
        return
    rows = [
        (str(s.meta.n), s.meta.story or "by hand", s.meta.role, s.meta.path, s.meta.status, s.meta.reason)
        for s in found
    ]
    for line in table(("n", "story", "role", "file", "status", "reason"), rows, shrink=(3, 5), lead=0):
        say(line)
    next_step(f"damascus write show {found[0].meta.n}")


@app.command("show")
def show(number: Number, as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """One staged write as a diff.

    \b
    Example:  damascus write show 3
    """
    from damascus.writes import difference

    _, project = opened()
    staged = _staging(project).get(number)
    shown = difference.lines(staged.change)
    if as_json:
        print_json({**_published(staged), "diff": shown})
        return
    if coloured():
        from rich.console import Console

        Console(highlight=False).print(difference.coloured(shown), end="")
    else:
        for line in shown:
            say(line)
    if staged.meta.status == "waiting":
        next_step(f"damascus write apply {number}, or: damascus write reject {number} --reason …")


@app.command("apply")
def apply(number: Number) -> None:
    """Apply a staged write, scanned again. An agent that waits for it goes on.

    \b
    Example:  damascus write apply 3
    """
    db, project = opened()
    staging = _staging(project)
    staged = _waiting(staging.get(number))
    _refuse_secret(staged.meta.path, staged.before, staged.after)
    if staged.meta.issue is not None:
        _answer(db, project, staged, "edit" if staged.edited else "apply")
        say(f"Write {number} of {staged.meta.path} may be applied: {staged.meta.story} goes on.")
        next_step(f"damascus why {staged.meta.story}")
        return
    _apply_here(project, staged)
    staging.note(staged, status="applied")
    say(f"{staged.meta.path} is written.")
    next_step(f"git diff {staged.meta.path}")


@app.command("reject")
def reject(
    number: Number,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; an agent that waits is told.")] = "",
) -> None:
    """Reject a staged write. An agent that waits for it is told the reason.

    \b
    Example:  damascus write reject 3 --reason "keep the old name"
    """
    db, project = opened()
    staging = _staging(project)
    staged = _waiting(staging.get(number))
    if staged.meta.issue is not None:
        _answer(db, project, staged, f"reject: {reason}")
    else:
        staging.note(staged, status="rejected", reason=reason)
    say(f"Write {number} of {staged.meta.path} is rejected.")
    next_step("damascus write list")


def _staging(project: "Project") -> "Staging":
    from damascus.writes.staging import FOLDER, Staging

    return Staging(project.folder / FOLDER)


def _waiting(staged: "Staged") -> "Staged":
    if staged.meta.status != "waiting":
        raise DamascusError(f"write {staged.meta.n} was {staged.meta.status} already. See: damascus write list --all")
    return staged


def _answer(db: "Database", project: "Project", staged: "Staged", text: str) -> None:
    from damascus.store import people

    assert staged.meta.issue is not None
    issue = people.open_question(db, project.row.id, staged.meta.issue)
    people.close(db, project.row.id, issue, text)


def _apply_here(project: "Project", staged: "Staged") -> None:
    """Only over what it was made from: another write in between would be lost."""
    from damascus.writes.bounds import inside
    from damascus.writes.log import Entry, Origin, WriteLog
    from damascus.writes.proposal import content
    from damascus.writes.refusal import Refused

    root = Path(staged.meta.root)
    try:
        target = root / inside(root, staged.meta.path)
        now = content(target)
    except Refused as refused:
        raise DamascusError(f"nothing was written: {refused.reason}") from None
    if now != staged.before:
        raise DamascusError(
            f"{staged.meta.path} has changed since write {staged.meta.n} was staged. Nothing was written; stage anew."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    aside.write_bytes(staged.after)
    aside.chmod(target.stat().st_mode & 0o777 if now is not None else 0o644)
    aside.replace(target)
    origin = Origin(story="", run=0, attempt=0, step="by hand", role="person")
    entry = Entry.of(staged.change, "by hand", origin, accepted=False)
    log = WriteLog(project.folder / "by-hand")
    log.add(entry.model_copy(update={"verdict": "applied", "approved": "person"}))
    log.keep(staged.before)
    log.keep(staged.after)


def _refuse_secret(path: str, before: bytes | None, after: bytes) -> None:
    from damascus.scanning.lines import REPAIR, new_lines, places
    from damascus.scanning.scanner import ScanFailed, Scanner

    scanner = Scanner()
    try:
        hits = scanner.scan(new_lines(path, before, after))
    except ScanFailed as err:
        raise DamascusError(f"{path} could not be scanned: {err}. Nothing was changed.") from None
    finally:
        scanner.close()
    if hits:
        raise DamascusError(f"secret found: {places(hits)}. Nothing was changed. {REPAIR}")


def _published(staged: "Staged") -> dict[str, Any]:
    return {**staged.meta.model_dump(), "file": str(staged.after_file)}
