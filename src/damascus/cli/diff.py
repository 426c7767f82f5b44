"""damascus diff: what a story changes, as `git apply` takes it."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import coloured, say, styled
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.domain.ids import Sha
    from damascus.store.db import Row

COLOURS = (("+++", "bold"), ("---", "bold"), ("+", "green"), ("-", "red"), ("@@", "cyan"), ("diff ", "bold"))
MADE = ("implement", "propose", "approval")
"""The steps that name a commit: the agent's work, the judged candidate, what a person is asked to approve."""


@dataclass(frozen=True)
class Change:
    """Two trees, and what the second one is: landed, candidate, attempt or workspace."""

    what: str
    base: "Sha"
    head: "Sha"
    note: str = ""


def diff(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    workspace: Annotated[bool, typer.Option("--workspace", help="What is in its workspace now.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Only the files, and how much of each.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with the patch in it.")] = False,
) -> None:
    """What a story changes: its candidate against its base, and once it is done what landed. In a pipe to the byte.

    \b
    Example:  damascus diff S-21
              damascus diff S-21 | git apply
              damascus diff S-21 --workspace --stat
    """
    from damascus.store import views

    app, project = app_for(story)
    row = views.story_row(app.database, project.row, story)
    whole = views.whole_row(app.database, project.row, story)
    change = _in_workspace(app, project, whole) if workspace else _made(app, project, whole)
    if as_json:
        print_json(_published(project, row.story_id, change))
        return
    if change.note:
        print(f"note: {change.note}", file=sys.stderr)
    trees = change.base, change.head
    _show(project.mirror.difference(*trees, "-M", "--stat=100") if stat else project.mirror.patch(*trees, "-M"))


# ── which two trees ───────────────────────────────────────────────────────────────────────────────────


def _made(app: "App", project: "Project", row: "Row") -> Change:
    from damascus.domain.ids import Sha, short
    from damascus.store import views

    story = row["story_id"]
    if row["phase"] == "done" and row["merged_commit"]:
        landed = Sha(row["merged_commit"])
        _bring(app, project, landed, story)
        return Change("landed", project.mirror.parent(landed), landed)
    found = app.database.one("view_last_build", item=row["id"])
    steps = views.journal(app.database, row["id"], found["run"]) if found and found["run"] else []
    done = {step["step"]: step["output"] for step in steps if step["status"] == "done" and step["step"] in MADE}
    judged = (done.get("approval") or {}).get("commit") or (row["candidate"] if "propose" in done else None)
    if judged:
        _bring(app, project, Sha(judged), story)
        return Change("candidate", project.mirror.parent(Sha(judged)), Sha(judged))
    commit = (done.get("implement") or {}).get("commit")
    if not commit:
        raise DamascusError(_nothing(project, story))
    _bring(app, project, Sha(commit), story)
    note = f"{story} has no candidate: this is its last attempt ({short(commit)}), which is not judged green."
    return Change("attempt", project.mirror.parent(Sha(commit)), Sha(commit), note)


def _nothing(project: "Project", story: str) -> str:
    at_work = (project.worktrees / story).is_dir()
    look = f"See its workspace: damascus diff {story} --workspace" if at_work else f"See: damascus why {story}"
    return f"{story} has no change to show yet: no agent has finished work on it. {look}"


def _in_workspace(app: "App", project: "Project", row: "Row") -> Change:
    """Read as it is judged later: without git's own eyes in a folder that an agent can write."""
    from damascus.domain.ids import Sha, StoryId
    from damascus.domain.scope import Scope
    from damascus.git.workspaces import Workspace, Workspaces
    from damascus.store.evidence import latest

    story, prepared = StoryId(row["story_id"]), latest(app.database, row["id"], "prepare")
    base = Sha(prepared["base"] if prepared else row["base_commit"] or "")
    path = project.worktrees / story
    if not base or path.is_symlink() or not path.is_dir():
        raise DamascusError(f"{story} has no workspace here. Its change, if there is one: damascus diff {story}")
    workspaces = Workspaces(project.worktrees, project.mirror, project.config.project.branch_prefix)
    found = workspaces.collected(Workspace(path, story, base), Scope(tuple(row["file_scope"])))
    left_out = ", ".join(f"{name} ({why})" for name, why in sorted(found.refused.items()))
    return Change("workspace", base, found.tree, f"left out: {left_out}" if left_out else "")


def _bring(app: "App", project: "Project", commit: "Sha", story: str) -> None:
    """From the stories' store, else from the forge, which has what was pushed by another host."""
    from damascus.forges import Setup, make_forge

    if project.mirror.objects.find([commit])[0] is not None:
        return
    config = project.config.forge
    if config.kind != "local":
        setup = Setup(project.mirror, None, project.row.main_branch, None, project.row.repo, config, app.environ)
        if make_forge(config.kind, setup).have(commit):
            return
    raise DamascusError(f"commit {commit} of {story} is neither here nor on the forge; another host may have it.")


# ── how it is shown ───────────────────────────────────────────────────────────────────────────────────


def _show(patch: bytes) -> None:
    """At a terminal nothing of it can move the cursor; anywhere else it is exactly what git said."""
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
        return
    from damascus.cli.words import plain

    for line in patch.decode("utf-8", errors="replace").splitlines():
        say(_coloured(plain(line)) if coloured() else plain(line))


def _coloured(line: str) -> str:
    colour = next((colour for start, colour in COLOURS if line.startswith(start)), None)
    return styled(line, colour) if colour else line


def _published(project: "Project", story: str, change: Change) -> dict[str, Any]:
    from damascus.git.mirror import counted

    mirror = project.mirror
    statuses = {file.path: file.status for file in mirror.changed(change.base, change.head)}
    counts = counted(mirror.difference(change.base, change.head, "--no-renames", "--numstat", "-z"))
    files = [{"path": path, "status": status, "added": counts.get(path, (None, None))[0],
              "removed": counts.get(path, (None, None))[1]} for path, status in sorted(statuses.items())]  # fmt: skip
    patch = mirror.patch(change.base, change.head, "-M").decode("utf-8", errors="replace")
    key = "tree" if change.what == "workspace" else "commit"
    told = {"story_id": story, "what": change.what, "base": change.base, key: change.head}
    return {**told, "note": change.note, "files": files, "patch": patch}
