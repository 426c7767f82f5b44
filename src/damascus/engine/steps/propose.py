"""Propose: the pull request of the story's branch, found or opened, with the proof on it."""

from pydantic import BaseModel, Field

from damascus.domain.events import Event, EventKind
from damascus.domain.ids import Sha
from damascus.domain.inert_markdown import quoted
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.tell import tell_opened
from damascus.tasks.importers.issues import closes

MOST_WORDS = 20_000


class Proposed(BaseModel):
    """The forge has the pull request."""

    number: int
    url: str
    found: bool = False
    untold: list[str] = Field(default_factory=list)
    """What the forge did not take of the proof, a sentence each."""


PROPOSE = Step(
    "propose", Phase.BUILD, StepKind.EFFECT, Proposed,
    "the pull request, found or opened, with the proof on it",
    also=(Phase.MERGE,),
)  # fmt: skip


def propose(run: Run, spec: Spec, commit: Sha) -> Proposed:
    return run.effect(
        PROPOSE,
        lambda _: _open_pull(run, spec, commit),
        key=commit,
        intent=lambda: {"branch": run.item.branch},
        events=_opened,
        facts=lambda done: {"pr_url": done.url, "candidate": commit},
    )


def _opened(done: Proposed) -> tuple[Event, ...]:
    untold = {"untold": done.untold} if done.untold else {}
    return ((EventKind.BUILD_PR_OPENED, {"number": done.number, "url": done.url, "found": done.found, **untold}),)


def _open_pull(run: Run, spec: Spec, commit: Sha) -> Proposed:
    forge, item = run.tools.forge, run.item
    pull = known = forge.find_pull(item.branch)
    if pull is None or pull.state != "open" or pull.head_sha != commit:
        pull = forge.open_pull(item.branch, f"{item.story_id}: {item.title}", pull_body(run, spec), commit)
    found = known is not None and known.number == pull.number
    return Proposed(number=pull.number, url=pull.url, found=found, untold=tell_opened(run, pull, commit))


def pull_body(run: Run, spec: Spec) -> str:
    """The spec's link; its text where the spec is not in the repository (D9)."""
    path = run.item.spec_path
    inside = not path.startswith("/") and run.tools.mirror.read(run.tools.forge.main_tip(), path) is not None
    text = f"Spec: {path}" if inside else f"Spec:\n\n{_words(spec)}"
    issue = closes(spec, run.tools.read_config(run.tools.forge.main_tip()).forge.url) if spec.source else None
    over = f"\n\nCloses #{issue}" if issue is not None else ""
    return f"{text}{over}\n\nDamascus-Item: {run.item.uuid}\n"


def _words(spec: Spec) -> str:
    """What came from elsewhere closes no issue and calls nobody: only its own issue is over with it."""
    return quoted(spec.body, MOST_WORDS) if spec.source else spec.body.strip()
