"""Records, in the place of `implement`: the files beside the task graph as one commit on main, made from the database.

No agent is sent, and nothing is read from a person's folder: the committed graph is main's own with our statuses. What
follows is as for every story: gates, queue, CI, landing.
"""

from damascus.domain.events import Event, EventKind
from damascus.domain.ids import Sha
from damascus.domain.outcome import Landed, Outcome
from damascus.domain.verdict import Kind, Phase
from damascus.engine import commits
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.projecting import BuilderFacts, Projection
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.git.mirror import Mirror
from damascus.git.trees import REGULAR, TreeEntry

NOTHING = "nothing to commit"
RECORDS = Step(
    "records", Phase.BUILD, StepKind.LOCAL, Made, "of `tasks commit`: the files beside the task graph as one commit"
)


def make_records(run: Run, start: StartingPoint) -> Made | Outcome:
    found: list[Made] = []

    def make() -> Made:
        found.append(_made(run, Sha(start.base)))
        return found[-1]

    made = run.local(RECORDS, make, events=lambda: _committed(found[-1]))
    if made.commit is not None:
        return made
    return Landed(start.base, f"{NOTHING}: main has it all", {"pr_url": NOTHING})


def _committed(made: Made) -> tuple[Event, ...]:
    body: dict[str, object] = {"commit": made.commit, "files": made.files_changed}
    return ((EventKind.BUILD_COMMITTED, body),) if made.commit else ()


def _made(run: Run, base: Sha) -> Made:
    mirror, config = run.tools.mirror, run.tools.read_config(base)
    found = BuilderFacts(run.tools.db, run.tools.project).look(config.tasks)
    changes = changes_of(mirror, base, found)
    if not changes:
        return Made(exit_code=0, base=base)
    entries = {path: TreeEntry(mode, mirror.write_blob(content)) for path, (mode, content) in changes.items()}
    tree = mirror.objects.edit(base, entries)
    text = commits.message(
        run.item, Kind.RECORDS, mirror.changed(base, tree), RECORDS.name, wanted=config.commit
    )  # fmt: skip
    commit = mirror.commit_tree(tree, [base], text, config.commit.author)
    return Made(exit_code=0, base=base, tree=tree, commit=commit, files_changed=sorted(changes))


def changes_of(mirror: Mirror, base: Sha, found: Projection) -> dict[str, tuple[str, bytes]]:
    """By path its mode and content, where it differs from what the commit has. What is no plain file there stays."""
    there = mirror.listing(base).files
    changes: dict[str, tuple[str, bytes]] = {}
    for path in found.paths:
        entry = there.get(path)
        raw = mirror.read(base, path) if entry is not None else None
        wanted = found.applied(path, raw)
        if wanted is not None and wanted != raw and (entry is None or entry.mode in REGULAR):
            changes[path] = (entry.mode if entry else REGULAR[0], wanted)
    return changes
