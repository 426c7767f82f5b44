"""Answers that are things that happen: what an agent was denied, and budgets that are spent (W8, X5)."""

from damascus.app import Project
from damascus.cli.say import next_step, say
from damascus.domain import money, recovery
from damascus.domain.recovery import Chosen
from damascus.store import people
from damascus.store.db import Database, Row


def recover(db: Database, project: Project, issue: Row, chosen: Chosen) -> None:
    story = issue["story_id"]
    if chosen.option == recovery.HAND_OVER:
        _hand_over(db, project, issue, chosen.words or "a person")
        return
    if chosen.option in recovery.RAISES:
        _raise(db, project, issue, chosen)
    else:
        words = recovery.needed(chosen, issue["id"]) if chosen.option == recovery.RESPAWN else None
        people.close(db, project.row.id, issue, words or chosen.option)
        acted = people.retry(db, project.row.id, story, words)
        say(f"{story} goes on in phase {acted.phase}: " + (f"its agent is told: {words}" if words else chosen.option))
    next_step(f"damascus run, or if one runs: damascus why {story}")


def _hand_over(db: Database, project: Project, issue: Row, who: str) -> None:
    story = issue["story_id"]
    people.hand_over(db, project.row.id, issue, who)
    say(f"{story} is left to {who}: blocked, question {issue['id']} open, no agent touches it.")
    say(f"What was written lies in {project.worktrees / story} (damascus rescue list {story}).")
    next_step(f"damascus retry {story} gives it back to an agent, damascus cancel {story} ends it")


def _raise(db: Database, project: Project, issue: Row, chosen: Chosen) -> None:
    _, unit = recovery.RAISES[chosen.option]
    amount = money.amount_of(recovery.needed(chosen, issue["id"]), unit)
    people.close(db, project.row.id, issue, f"{chosen.option}: {money.said(amount, unit)}")
    going = people.raise_budget(db, project.row.id, issue, chosen.option, amount)
    names = ", ".join(acted.story_id for acted in going)
    say(f"The budget is {money.said(amount, unit)} now. {names} {'goes' if len(going) == 1 else 'go'} on.")
