"""What an act came to, by the keys that programs read: the words that the command prints, and the facts."""

from typing import Any

from damascus.people.acts import Done
from damascus.people.adding import Added
from damascus.people.answering import Answered
from damascus.people.stories import OnStory


def act(done: Done) -> dict[str, Any]:
    return {"said": done.said, "next": done.following}


def story_act(done: OnStory) -> dict[str, Any]:
    return {**act(done), "story_id": done.story, "phase": done.phase, "was_leased": done.was_leased}


def question_act(done: Answered) -> dict[str, Any]:
    return {**act(done), "question": done.question, "story_id": done.story, "answer": done.answer}


def added(done: Added) -> dict[str, Any]:
    return {**act(done), "queued": [vars(one) for one in done.queued], "warnings": list(done.warnings)}
