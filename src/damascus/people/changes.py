"""What a story changes: its candidate against its base, what landed, or what is in its workspace now."""

from dataclasses import dataclass
from typing import Any

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, StoryId, short
from damascus.domain.scope import Scope
from damascus.domain.verdict import Phase
from damascus.forges import ForgeSetup, make_forge
from damascus.git.patches import counted
from damascus.git.workspaces import Workspace, Workspaces
from damascus.store import views
from damascus.store.db import Row
from damascus.store.journal import latest

ATTEMPTS = ("commit", "implement", "write_plan", "records")
"""The steps that make a commit, the one that is judged first: of a build, a plan, the files beside a graph."""
MADE = (*ATTEMPTS, "propose", "approval")
"""The steps that name a commit: the work, the judged candidate, what a person is asked to approve."""


@dataclass(frozen=True)
class Change:
    """Two trees, and what the second one is: landed, candidate, attempt or workspace."""

    story: str
    what: str
    base: Sha
    head: Sha
    note: str = ""


def change_of(app: App, project: Project, story: str, *, workspace: bool = False) -> Change:
    """In the story's repository (`places.repository_of`)."""
    views.story_row(app.database, project.row, story)  # refuses one that nobody knows
    row = views.whole_row(app.database, project.row, story)
    return _in_workspace(app, project, row) if workspace else _made(app, project, row)


def patch(project: Project, change: Change) -> bytes:
    """As `git apply` takes it."""
    return project.mirror.patch(change.base, change.head, "-M")


def stat(project: Project, change: Change) -> bytes:
    """The files, and how much of each."""
    return project.mirror.difference(change.base, change.head, "-M", "--stat=100")


def published(project: Project, change: Change) -> dict[str, Any]:
    mirror = project.mirror
    statuses = {file.path: file.status for file in mirror.changed(change.base, change.head)}
    counts = counted(mirror.difference(change.base, change.head, "--no-renames", "--numstat", "-z"))
    files = [{"path": path, "status": status, "added": counts.get(path, (None, None))[0],
              "removed": counts.get(path, (None, None))[1]} for path, status in sorted(statuses.items())]  # fmt: skip
    patch = mirror.patch(change.base, change.head, "-M").decode("utf-8", errors="replace")
    key = "tree" if change.what == "workspace" else "commit"
    told = {"story_id": change.story, "what": change.what, "base": change.base, key: change.head}
    return {**told, "note": change.note, "files": files, "patch": patch}


# ── which two trees ───────────────────────────────────────────────────────────────────────────────────


def _made(app: App, project: Project, row: Row) -> Change:
    story = row["story_id"]
    if row["phase"] in (Phase.DONE, Phase.STALE) and row["merged_commit"]:
        landed = Sha(row["merged_commit"])
        _bring(app, project, landed, story)
        return Change(story, "landed", project.mirror.parent(landed), landed)
    found = app.database.one("view_last_build", item=row["id"])
    steps = views.journal(app.database, row["id"], found["run"]) if found and found["run"] else []
    done = {step["step"]: step["output"] for step in steps if step["status"] == "done" and step["step"] in MADE}
    judged = (done.get("approval") or {}).get("commit") or (row["candidate"] if "propose" in done else None)
    if judged:
        _bring(app, project, Sha(judged), story)
        return Change(story, "candidate", project.mirror.parent(Sha(judged)), Sha(judged))
    commit = next((done[step].get("commit") for step in ATTEMPTS if done.get(step)), None)
    if not commit:
        raise DamascusError(_nothing(project, story))
    _bring(app, project, Sha(commit), story)
    note = f"{story} has no candidate: this is its last attempt ({short(commit)}), which is not judged green."
    return Change(story, "attempt", project.mirror.parent(Sha(commit)), Sha(commit), note)


def _nothing(project: Project, story: str) -> str:
    at_work = (project.worktrees / story).is_dir()
    look = f"See its workspace: damascus diff {story} --workspace" if at_work else f"See: damascus why {story}"
    return f"{story} has no change to show yet: no agent has finished work on it. {look}"


def _in_workspace(app: App, project: Project, row: Row) -> Change:
    """Read as it is judged later: without git's own eyes in a folder that an agent can write."""
    story, prepared = StoryId(row["story_id"]), latest(app.database, row["id"], "prepare")
    base = Sha(prepared["base"] if prepared else row["base_commit"] or "")
    path = project.worktrees / story
    if not base or path.is_symlink() or not path.is_dir():
        raise DamascusError(f"{story} has no workspace here. Its change, if there is one: damascus diff {story}")
    workspaces = Workspaces(project.worktrees, project.mirror, project.config.project.branch_prefix)
    found = workspaces.collected(Workspace(path, story, base), Scope(tuple(row["file_scope"])))
    left_out = ", ".join(f"{name} ({why})" for name, why in sorted(found.refused.items()))
    return Change(story, "workspace", base, found.tree, f"left out: {left_out}" if left_out else "")


def _bring(app: App, project: Project, commit: Sha, story: str) -> None:
    """From the stories' store, else from the forge, which has what was pushed by another host."""
    if project.mirror.objects.find([commit])[0] is not None:
        return
    config = project.config.forge
    if config.kind != "local":
        setup = ForgeSetup(project.mirror, None, project.row.main_branch, None, project.row.repo, config, app.environ)
        if make_forge(config.kind, setup).have(commit):
            return
    raise DamascusError(f"commit {commit} of {story} is neither here nor on the forge; another host may have it.")
