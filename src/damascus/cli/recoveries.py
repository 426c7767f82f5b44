"""Answers about a story, each a thing that happens (D15, W8, X5): what is done, in words, and what to do next."""

import getpass
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from damascus.app import Project
from damascus.domain import money, recovery
from damascus.domain.approval import Word
from damascus.domain.ids import short
from damascus.domain.recovery import Chosen
from damascus.store import people, views
from damascus.store.db import Database, Row

TERMINAL = "terminal"
Said = tuple[str, str]
Doing = Callable[[Database, Project, Row, Chosen], Said]


def about_story(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    """By the option's id alone. Own words, and options that an agent's own question brought, go to the next agent."""
    if not choice.id and recovery.APPROVE in issue["options"]:
        return _send_back(db, project, issue, choice)  # no agent would hear them where it only waits for a word
    otherwise = _land_now if recovery.LAND_NOW in issue["options"] else _words  # it waits: there is no agent to tell
    return DOES.get(choice.id, otherwise)(db, project, issue, choice)


def _goes_on(story: str) -> str:
    return f"damascus run, or if one runs: damascus why {story}"


def _words(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    return _retried(db, project, issue, choice, choice.told)


def _retry(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    return _retried(db, project, issue, choice, choice.words or None)


def _retried(db: Database, project: Project, issue: Row, choice: Chosen, told: str | None) -> Said:
    acted = people.retry(db, project.row.id, issue["story_id"], told)
    people.close(db, project.row.id, issue, choice.told)
    return f"{issue['story_id']} goes on in phase {acted.phase} with a new budget: {choice.told}", _goes_on(
        issue["story_id"]
    )


def _cancel(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    story = issue["story_id"]
    people.cancel(db, project.row.id, story)
    people.close(db, project.row.id, issue, choice.told)
    return f"{story} is cancelled. What an agent wrote is kept: damascus rescue list {story}", "damascus inbox"


def _edit_spec(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    story = issue["story_id"]
    people.decided(db, project.row.id, issue, choice.told)
    said = f"{story} stays blocked, question {issue['id']} open, until you add its corrected spec."
    return said, f"damascus add {views.whole_row(db, project.row, story)['spec_path']}"


def _use_spec(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    story = issue["story_id"]
    people.use_spec(db, project.row.id, story)
    people.close(db, project.row.id, issue, choice.told)
    return f"{story} goes on with the spec exactly as the question showed it.", _goes_on(story)


def _where_it_was(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    story = issue["story_id"]
    acted = people.look_again(db, project.row.id, story, choice.option)
    people.close(db, project.row.id, issue, choice.told)
    looks = "; no agent is sent, CI is looked at again" if choice.id == "look_again" else f": {choice.told}"
    return f"{story} goes on in phase {acted.phase} where it was{looks}.", _goes_on(story)


def _close(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    people.close(db, project.row.id, issue, choice.told)
    return f"Question {issue['id']} is answered: {choice.told}.", "damascus inbox"


def _allowed(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    return _new_run(db, project, issue, choice, choice.words or None)


def _respawn(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    return _new_run(db, project, issue, choice, recovery.needed(choice, issue["id"]))


def _new_run(db: Database, project: Project, issue: Row, choice: Chosen, words: str | None) -> Said:
    story = issue["story_id"]
    people.close(db, project.row.id, issue, words or choice.option)
    acted = people.retry(db, project.row.id, story, words)
    told = f"its agent is told: {words}" if words else choice.option
    return f"{story} goes on in phase {acted.phase}: {told}", _goes_on(story)


def _land_now(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    story = issue["story_id"]
    people.land_now(db, project.row.id, issue, choice.told)
    return f"{story} is landed as soon as nothing is in its way; if something is, you are asked again.", _goes_on(story)


def _hand_over(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    story, who = issue["story_id"], choice.words or "a person"
    people.hand_over(db, project.row.id, issue, who)
    said = (
        f"{story} is left to {who}: blocked, question {issue['id']} open, no agent touches it.\n"
        f"What was written lies in {project.worktrees / story} (damascus rescue list {story})."
    )
    return said, f"damascus retry {story} gives it back to an agent, damascus cancel {story} ends it"


def _raise(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    _, unit = recovery.RAISES[choice.option]
    amount = money.amount_of(recovery.needed(choice, issue["id"]), unit)
    people.close(db, project.row.id, issue, f"{choice.option}: {money.said(amount, unit)}")
    going = people.raise_budget(db, project.row.id, issue, choice.option, amount)
    names = ", ".join(acted.story_id for acted in going)
    said = f"The budget is {money.said(amount, unit)} now. {names} {'goes' if len(going) == 1 else 'go'} on."
    return said, _goes_on(issue["story_id"])


def _approve(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    return approved(db, project, issue["story_id"], choice.words)


def approved(db: Database, project: Project, story: str, words: str = "") -> Said:
    by = who(project)
    done = people.approve(db, project.row.id, story, Word(by, TERMINAL, words))
    return (
        f"{done.story_id} is approved by {by}, as it stands in {short(done.commit)}; it lands in its turn.",
        _goes_on(done.story_id),
    )


def _send_back(db: Database, project: Project, issue: Row, choice: Chosen) -> Said:
    return sent_back(db, project, issue["story_id"], recovery.needed(choice, issue["id"]))


def sent_back(db: Database, project: Project, story: str, words: str) -> Said:
    done = people.send_back(db, project.row.id, story, Word(who(project), TERMINAL, words))
    return f"{done.story_id} goes back to build with a new budget; its agent is told: {words}", _goes_on(done.story_id)


def who(project: Project) -> str:
    """As git knows the person who types, else as the machine does."""
    place = project.here.top if project.here is not None else Path.cwd()
    told = subprocess.run(["git", "var", "GIT_AUTHOR_IDENT"], cwd=place, capture_output=True, text=True, check=False)
    named = re.match(r"(.+ <.*>) \d+ [+-]\d+$", told.stdout.strip())
    return named[1] if told.returncode == 0 and named else getpass.getuser()


DOES: dict[str, Doing] = {
    "approve": _approve,
    "send_back": _send_back,
    "retry": _retry,
    "cancel": _cancel,
    "edit_spec": _edit_spec,
    "use_spec": _use_spec,
    "look_again": _where_it_was,
    "accept_tests": _where_it_was,
    "keep_tests": _where_it_was,
    "land_now": _land_now,
    "meant_so": _close,
    "fix_permission": _allowed,
    "respawn": _respawn,
    "hand_over": _hand_over,
    "raise_budget": _raise,
}
"""What each option of a story's question does."""
