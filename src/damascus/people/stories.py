"""What a person does to stories: grants a new run, ends, approves, sends back."""

from dataclasses import dataclass

from damascus.app import Project
from damascus.domain.approval import Word
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import short
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Kind, Phase, Verdict
from damascus.domain.visible import visible
from damascus.people.acts import Actor, Done, goes_on
from damascus.store import people, views
from damascus.store.db import Database


@dataclass(frozen=True)
class OnStory(Done):
    """The story, the phase it is in now, and whether it was taken from a worker."""

    story: str
    phase: str
    was_leased: bool = False


@dataclass(frozen=True)
class OnStories(Done):
    """The stories that go on."""

    stories: tuple[str, ...]


@dataclass(frozen=True)
class ApprovedCommit(OnStory):
    """The commit that was shown, and who approved it."""

    commit: str = ""
    by: str = ""


def retry(db: Database, project: Project, story: str, hint: str = "") -> OnStory:
    """A new run and a new budget; the next agent is told the hint."""
    acted = people.retry(db, project.row.id, story, visible(hint) or None)
    taken = " It was taken from the worker that had it." if acted.was_leased else ""
    said = f"{acted.story_id} goes on in phase {acted.phase} with a new budget.{taken}"
    return OnStory(said, goes_on(acted.story_id), acted.story_id, acted.phase, acted.was_leased)


def retry_all(db: Database, project: Project, verdict: str = "", hint: str = "") -> OnStories:
    """Every blocked story, or those whose last verdict it is."""
    known = [one.value for one in Verdict]
    if verdict and verdict not in known:
        raise UsageError(f"there is no verdict {verdict!r}. There are: {', '.join(known)}")
    found = db.all("blocked_stories", project=project.row.id, verdict=verdict)
    if not found:
        raise DamascusError("no story is blocked" + (f" after {verdict}" if verdict else "") + ". See: damascus status")
    for row in found:
        people.retry(db, project.row.id, row["story_id"], visible(hint) or None)
    names = tuple(row["story_id"] for row in found)
    return OnStories(f"{len(names)} go on with a new budget: {', '.join(names)}.", goes_on(), names)


def cancel(db: Database, project: Project, story: str) -> OnStory:
    """What an agent wrote is kept; the id can be added again."""
    acted = people.cancel(db, project.row.id, story)
    taken = " The worker that had it is shut out." if acted.was_leased else ""
    following = f"damascus rescue list {acted.story_id}"
    if acted.phase == Phase.DONE:
        said = f"{acted.story_id} is not built anew: it is done again, as on main; who waited goes on.{taken}"
        return OnStory(said, following, acted.story_id, acted.phase, acted.was_leased)
    return OnStory(f"{acted.story_id} is cancelled.{taken}", following, acted.story_id, acted.phase, acted.was_leased)


def approve(db: Database, project: Project, story: str, person: Actor, words: str = "") -> ApprovedCommit:
    """The person's word for the change that the story's question shows."""
    done = people.approve(db, project.row.id, story, Word(person.name, person.by, words))
    said = f"{done.story_id} is approved by {person.name}, as it stands in {short(done.commit)}; it lands in its turn."
    following = goes_on(done.story_id)
    if _is_plan(db, project, story):
        said += " Nothing of it is queued by that."
        following = f"damascus run, and once it has landed: damascus tasks add {project.config.tasks.graph}"
    return ApprovedCommit(said, following, done.story_id, done.phase, commit=done.commit, by=person.name)


def _is_plan(db: Database, project: Project, story: str) -> bool:
    row = views.whole_row(db, project.row, story)
    return parse_spec(bytes(row["spec"]), row["spec_path"], rough=True).kind is Kind.PLAN


def send_back(db: Database, project: Project, story: str, person: Actor, words: str) -> OnStory:
    """To its agent, which is told the words and gets a new budget."""
    if not visible(words):
        raise UsageError(
            "say in words what has to be different. Write it like: damascus send-back S-21 name it parse, not read"
        )
    done = people.send_back(db, project.row.id, story, Word(person.name, person.by, words))
    said = f"{done.story_id} goes back to build with a new budget; its agent is told: {words}"
    return OnStory(said, goes_on(done.story_id), done.story_id, done.phase)
