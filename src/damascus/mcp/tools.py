"""The tools. Each is a function of people/ under the name that an agent calls it by; none can declare a story done."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from damascus.app import App, Project
from damascus.domain.storable import LARGEST_NUMBER
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.mcp.caller import Calling, Context
from damascus.mcp.told import Value, told
from damascus.people import adding, answering, listing, questions, stories
from damascus.people.audit import ActOutcome, audited
from damascus.people.explaining import explained
from damascus.people.given import SpecTexts, StoryName, Words
from damascus.people.meant import refuse_other_phase
from damascus.people.merge_queues import merge_queues
from damascus.people.places import repository_of
from damascus.people.published import item
from damascus.people.published_acts import added, question_act, story_act
from damascus.people.receipts import receipt_of_story
from damascus.people.showing import shown
from damascus.store.listing import StoryFilter

Phases = Annotated[list[Phase] | None, Field(description="Only of these phases.")]
Wait = Annotated[WaitKind | None, Field(description="Only those that wait for this.")]
Cursor = Annotated[str | None, Field(max_length=40, description="What the last page called next.")]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most.")]
Number = Annotated[int, Field(ge=0, lt=LARGEST_NUMBER, description="The question's number: list_inbox.")]
Seen = Annotated[Phase | None, Field(description="The phase you saw: refused if the story is in another one by now.")]
Hint = Annotated[Words, Field(description="Told to the story's next agent.")]
Answer = Annotated[Words, Field(min_length=1, description="An option's number or id, words if wanted; or words alone.")]
Rough = Annotated[bool, Field(description="Only story and title are needed; the rest is asked for in phase spec.")]
ONLY_READS = "That token may only read. Nothing was done. One that may act: damascus token new --scope act"


@dataclass(frozen=True)
class StoryTools:
    """Of one project, as it is at the moment of a call."""

    app: App
    project_now: Callable[[], Project]
    calling: Calling

    def _acting(self, ctx: Context, project: Project, verb: str, target: str) -> AbstractContextManager[ActOutcome]:
        """Around an act: refused to who may only read, and written down."""
        caller = self.calling(ctx)
        if not caller.may_act:
            raise ToolError(ONLY_READS)
        return audited(self.app.database, project, caller.who, (verb, target), caller.where)

    # ── looking ───────────────────────────────────────────────────────────────────────────────────────

    @told
    def list_stories(self, phase: Phases = None, wait: Wait = None, after: Cursor = None, limit: Limit = 20) -> Value:
        """Stories, newest first, in pages: phase, last verdict, what each waits for. For the next page give `next` as
        `after`."""
        page = listing.stories(self.app.database, self.project_now(), StoryFilter(phase or (), wait), after, limit)
        return {"items": [item(row) for row in page.rows], "next": page.following}

    @told
    def get_story(self, story: StoryName) -> Value:
        """One story: its row, its spec, its questions, what happened step by step, what it cost."""
        project = repository_of(self.app, self.project_now(), story)
        return shown(self.app, project, story).published()

    @told
    def why_story(self, story: StoryName) -> Value:
        """Where a story is, since when, what it waits for, who must act, what happens next: one paragraph."""
        return explained(self.app, self.project_now(), story).published()

    @told
    def list_inbox(self) -> Value:
        """The questions that only a person can answer, the most urgent first, each with its numbered answers and what
        they do."""
        found = questions.open_questions(self.app.database, self.project_now())
        return {"issues": [questions.published(issue) for issue in found]}

    @told
    def get_receipt(self, story: StoryName) -> Value:
        """What is proved of a story: each requirement, the tests, the code, and what is not verified."""
        return receipt_of_story(self.app.database, self.project_now().row, story).receipt.model_dump(mode="json")

    @told
    def get_queue(self) -> Value:
        """The merge queue: who is in line for main, on top of whom each is tested, and how that goes."""
        return {"queues": merge_queues(self.app.database, self.project_now())}

    # ── acting ────────────────────────────────────────────────────────────────────────────────────────

    @told
    def add_stories(self, ctx: Context, specs: SpecTexts, rough: Rough = False) -> Value:
        """Queue stories from the text of their specs, all or none. Unchanged ones are skipped. What is queued is built,
        judged and landed by Damascus alone."""
        project = self.project_now()
        with self._acting(ctx, project, "add", f"{len(specs)} specs") as outcome:
            done = adding.add_texts(self.app.database, project, specs, rough=rough)
            outcome.said = done.said
        return added(done)

    @told
    def answer_question(self, ctx: Context, number: Number, answer: Answer) -> Value:
        """Answer a question of the inbox, for the person who asked you to. Ask them first where it is not clear."""
        project = self.project_now()
        with self._acting(ctx, project, "answer", str(number)) as outcome:
            asked = answering.question(self.app, project, number)
            done = answering.answer(self.app, asked, answer, self.calling(ctx).who)
            outcome.said = done.said
        return question_act(done)

    @told
    def retry_story(self, ctx: Context, story: StoryName, hint: Hint = "", phase: Seen = None) -> Value:
        """Give a story that is not finished a new run and a new budget of tries. It is taken from a worker that has
        it."""
        project = self.project_now()
        with self._acting(ctx, project, "retry", story) as outcome:
            refuse_other_phase(self.app, project, story, phase)
            done = stories.retry(self.app.database, project, story, hint)
            outcome.said = done.said
        return story_act(done)

    @told
    def cancel_story(self, ctx: Context, story: StoryName, phase: Seen = None) -> Value:
        """End a story. What an agent wrote is kept; its id can be added again."""
        project = self.project_now()
        with self._acting(ctx, project, "cancel", story) as outcome:
            refuse_other_phase(self.app, project, story, phase)
            done = stories.cancel(self.app.database, project, story)
            outcome.said = done.said
        return story_act(done)
