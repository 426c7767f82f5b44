"""Propose: the pull request of the story's branch, found or opened."""

from pydantic import BaseModel

from damascus.domain.events import EventKind
from damascus.domain.ids import Sha
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind


class Proposed(BaseModel):
    """The forge has the pull request."""

    number: int
    url: str
    found: bool = False


PROPOSE = Step(
    "propose", Phase.BUILD, StepKind.EFFECT, Proposed, "the pull request, found or opened", also=(Phase.MERGE,)
)


def propose(run: Run, spec: Spec, commit: Sha) -> Proposed:
    return run.effect(
        PROPOSE,
        lambda _: _open_pull(run, spec, commit),
        key=commit,
        intent=lambda: {"branch": run.item.branch},
        events=lambda done: (
            (EventKind.BUILD_PR_OPENED, {"number": done.number, "url": done.url, "found": done.found}),
        ),
        facts=lambda done: {"pr_url": done.url, "candidate": commit},
    )


def _open_pull(run: Run, spec: Spec, commit: Sha) -> Proposed:
    forge, item = run.tools.forge, run.item
    known = forge.find_pull(item.branch)
    if known is not None and known.state == "open" and known.head_sha == commit:
        return Proposed(number=known.number, url=known.url, found=True)
    pull = forge.open_pull(item.branch, f"{item.story_id}: {item.title}", pull_body(run, spec), commit)
    return Proposed(number=pull.number, url=pull.url, found=known is not None and known.number == pull.number)


def pull_body(run: Run, spec: Spec) -> str:
    """The spec's link; its text where the spec is not in the repository (D9)."""
    path = run.item.spec_path
    inside = not path.startswith("/") and run.tools.mirror.read(run.tools.forge.main_tip(), path) is not None
    text = f"Spec: {path}" if inside else f"Spec:\n\n{spec.body.strip()}"
    return f"{text}\n\nDamascus-Item: {run.item.uuid}\n"
