"""What a person may do to a story. Each command raises the fence, so a worker in the middle is shut out."""

from dataclasses import dataclass

from damascus.domain import recovery
from damascus.domain.approval import Word
from damascus.domain.errors import DamascusError, NotThere
from damascus.domain.events import Event, EventKind
from damascus.domain.question_marks import PICTURES, marks_of
from damascus.domain.storable import LARGEST_NUMBER
from damascus.domain.verdict import Phase
from damascus.store import halts, screenshots, spending
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.journal import write_events
from damascus.store.queueing import SLACK
from damascus.store.rebuilds import is_rebuild, refuse_landing, take_back
from damascus.store.stale import end_halt_if_none_is_stale, refuse_stale


@dataclass(frozen=True)
class Acted:
    """What was done, for the sentence that the command prints."""

    story_id: str
    phase: str
    was_leased: bool


@dataclass(frozen=True)
class ActedOnChange(Acted):
    """And the commit that was shown."""

    commit: str


def cancel(db: Database, project: int, story: str) -> Acted:
    """End a story; one that is built anew is again what it was on main. One that is done or on its way onto main is
    past cancelling, and it says so."""

    def work(c: Connection) -> Acted:
        c.execute(sql("graph_lock"), {"project": project})  # before any row: it may end what a STALE story halts
        row = _locked(c, project, story)
        if row["phase"] in (Phase.DONE, Phase.CANCELLED):
            raise DamascusError(f"{row['story_id']} is {row['phase']} already; nothing was cancelled.")
        refuse_landing(c, row, "cancel")
        if is_rebuild(row):
            leased = take_back(c, project, row, "a person", halts.resumed(row, "a person"))
            return Acted(row["story_id"], "done", leased)
        leased = _take_lease(c, row)
        c.execute(sql("cancel_item"), {"id": row["id"]})
        _let_go(c, row, "cancelled")
        if row["phase"] == Phase.STALE:
            end_halt_if_none_is_stale(c, project, "a person")
        write_events(
            c,
            project,
            row["id"],
            (
                (EventKind.STORY_CANCELLED, {"from": row["phase"]}),
                _moved(row, "cancelled"),
                *halts.resumed(row, "a person"),
            ),
        )
        return Acted(row["story_id"], "cancelled", leased)

    return db.run(work)


def retry(db: Database, project: int, story: str, answer: str | None = None) -> Acted:
    """Grant a new run and a new budget; ends a transient series."""

    def work(c: Connection) -> Acted:
        row = _locked(c, project, story)
        refuse_stale(row)
        if row["phase"] in (Phase.DONE, Phase.CANCELLED):
            raise DamascusError(
                f"{row['story_id']} is {row['phase']}; only a story that is not finished can be retried."
            )
        if _landing_begun(c, row):
            raise DamascusError(f"{row['story_id']} is landing on main at this moment. Nothing was changed.")
        leased = _take_lease(c, row)
        phase = row["resume_phase"] or ("spec" if row["phase"] == Phase.SPEC else "build")
        params = {"id": row["id"], "phase": phase, "slack": SLACK[row["priority"]]}
        c.execute(sql("resume_item"), params | {"answers": [answer] if answer else []})
        _let_go(c, row, answer or "retry", keep_scope=row["phase"] != Phase.BLOCKED)
        resumed = halts.resumed(row, "a person")
        write_events(
            c, project, row["id"], ((EventKind.STORY_RETRIED, {"answer": answer}), _moved(row, phase), *resumed)
        )
        return Acted(row["story_id"], phase, leased)

    return db.run(work)


def look_again(db: Database, project: int, story: str, answer: str = recovery.LOOK_AGAIN) -> Acted:
    """The blocked run itself goes on: what is done stays done, and CI is looked at with the same patience again."""

    def work(c: Connection) -> Acted:
        row = _locked(c, project, story)
        if row["phase"] != Phase.BLOCKED:
            raise DamascusError(f"{row['story_id']} is not blocked: it goes on without your word.")
        params = {"id": row["id"], "run": row["run_no"], "slack": SLACK[row["priority"]]}
        reached = c.execute(sql("look_again"), params).fetchone()
        c.execute(sql("close_issues"), {"item": row["id"], "answer": answer})
        write_events(
            c, project, row["id"], ((EventKind.STORY_RESUMED, dict(reached or {})), _moved(row, row["resume_phase"]))
        )
        return Acted(row["story_id"], row["resume_phase"], was_leased=False)

    return db.run(work)


def accept_pictures(db: Database, project: int, issue: Row, by: str) -> Acted:
    """The pictures that the question shows are how their pages look, by this person's word; the run goes on."""

    def work(c: Connection) -> Acted:
        row = _locked(c, project, issue["story_id"])
        if row["phase"] != Phase.BLOCKED:
            raise DamascusError(f"{row['story_id']} is not blocked: it goes on without your word.")
        pages = screenshots.accept(c, row["id"], marks_of(issue["question"], PICTURES), by)
        params = {"id": row["id"], "run": row["run_no"], "slack": SLACK[row["priority"]]}
        reached = c.execute(sql("look_again"), params).fetchone()
        c.execute(sql("close_issues"), {"item": row["id"], "answer": f"{recovery.ACCEPT_PICTURES} ({by})"})
        told: dict[str, object] = {**dict(reached or {}), "pictures": pages, "by": by}
        write_events(c, project, row["id"], ((EventKind.STORY_RESUMED, told), _moved(row, row["resume_phase"])))
        return Acted(row["story_id"], row["resume_phase"], was_leased=False)

    return db.run(work)


def use_spec(db: Database, project: int, story: str) -> Acted:
    """The refined spec of the blocked run is the person's word now, known by its hash: that text and no other."""

    def work(c: Connection) -> Acted:
        row = _locked(c, project, story)
        params = {"id": row["id"], "run": row["run_no"], "fence": row["fence"], "slack": SLACK[row["priority"]]}
        found = c.execute(sql("use_spec"), params).fetchone() if row["phase"] == Phase.BLOCKED else None
        if found is None:
            raise DamascusError(f"{row['story_id']} has no refined spec that waits for your word. See: damascus inbox")
        c.execute(sql("close_issues"), {"item": row["id"], "answer": recovery.USE_SPEC})
        told = (EventKind.STORY_SPEC_APPROVED, {"spec": found["spec"]})
        write_events(c, project, row["id"], (told, _moved(row, row["resume_phase"])))
        return Acted(row["story_id"], row["resume_phase"], was_leased=False)

    return db.run(work)


def approve(db: Database, project: int, story: str, word: Word) -> ActedOnChange:
    """A person's word for the change that the story's run asks about: it goes on where it was, and lands by that."""

    def work(c: Connection) -> ActedOnChange:
        row, asked = _awaits_approval(c, project, story)
        params = {"id": row["id"], "run": row["run_no"], "fence": row["fence"], "slack": SLACK[row["priority"]]}
        params |= {"phase": row["resume_phase"], "change": asked["change"], "output": jsonb({**asked, **word.told()})}
        c.execute(sql("approve"), params)
        c.execute(sql("close_issues"), {"item": row["id"], "answer": f"{recovery.APPROVE} ({word.by})"})
        told = (EventKind.STORY_APPROVED, {**asked, **word.told()})
        write_events(c, project, row["id"], (told, _moved(row, row["resume_phase"])))
        return ActedOnChange(row["story_id"], row["resume_phase"], was_leased=False, commit=str(asked["commit"]))

    return db.run(work)


def send_back(db: Database, project: int, story: str, word: Word) -> Acted:
    """The change that a person was to approve is not what is wanted: the agent goes on with it and is told why."""

    def work(c: Connection) -> Acted:
        row, asked = _awaits_approval(c, project, story)
        params = {"id": row["id"], "phase": "build", "slack": SLACK[row["priority"]], "answers": [word.words]}
        c.execute(sql("resume_item"), params)
        _let_go(c, row, f"{recovery.SEND_BACK}: {word.words}")
        told = (EventKind.STORY_SENT_BACK, {**asked, **word.told()})
        write_events(c, project, row["id"], (told, _moved(row, "build")))
        return Acted(row["story_id"], "build", was_leased=False)

    return db.run(work)


def _awaits_approval(c: Connection, project: int, story: str) -> tuple[Row, dict[str, object]]:
    """The row, locked, and what its run asks about. The journal says so: whatever a question is worded like."""
    row = _locked(c, project, story)
    params = {"item": row["id"], "run": row["run_no"]}
    asked = c.execute(sql("approval_asked"), params).fetchone() if row["phase"] == Phase.BLOCKED else None
    if asked is None:
        raise DamascusError(f"{row['story_id']} does not wait for your approval. See: damascus why {row['story_id']}")
    return row, dict(asked)


def open_question(db: Database, project: int, issue: int) -> Row:
    row = db.one("issue", project=project, issue=issue) if issue < LARGEST_NUMBER else None
    if row is None:
        raise NotThere(f"there is no question {issue}. See the open ones: damascus inbox")
    if row["closed_at"] is not None:
        raise DamascusError(f"question {issue} was answered already: {row['answer']}")
    return row


def hand_over(db: Database, project: int, issue: Row, who: str) -> None:
    """The story stays blocked and becomes that person's: no agent touches it until the question is answered anew."""

    def work(c: Connection) -> None:
        c.execute(sql("own_issue"), {"issue": issue["id"], "owner": who})
        write_events(c, project, issue["item_id"], ((EventKind.STORY_HANDED_OVER, {"to": who, "issue": issue["id"]}),))

    db.run(work)


def decided(db: Database, project: int, issue: Row, text: str) -> None:
    """A person said what will be done and has still to do it: the question stays open, with that word."""

    def work(c: Connection) -> None:
        c.execute(sql("note_answer"), {"issue": issue["id"], "answer": text})
        write_events(
            c, project, issue["item_id"], ((EventKind.ISSUE_ANSWERED, {"issue": issue["id"], "answer": text}),)
        )

    db.run(work)


def raise_budget(db: Database, project: int, issue: Row, option: str, amount: int) -> list[Acted]:
    """A new limit for the story, or for the project: then every story that asked for that goes on."""
    whose, unit = recovery.RAISES[option]
    item = issue["item_id"] if whose == "story" else None

    def work(c: Connection) -> None:
        spending.raise_budget(c, project, item or 0, unit, amount)
        told: dict[str, object] = {"whose": whose, "unit": unit, "amount": amount}
        write_events(c, project, item, ((EventKind.BUDGET_RAISED, told),))

    db.run(work)
    others = db.all("spend_waiting", project=project, option=option) if whose == "project" else []
    asking = {issue["story_id"], *(row["story_id"] for row in others)}
    return [retry(db, project, story) for story in sorted(asking)]


def close(db: Database, project: int, issue: Row, text: str) -> None:
    def work(c: Connection) -> None:
        c.execute(sql("close_issue"), {"issue": issue["id"], "answer": text})
        write_events(
            c, project, issue["item_id"], ((EventKind.ISSUE_ANSWERED, {"issue": issue["id"], "answer": text}),)
        )
        c.execute(sql("wake_agent"), {"project": project})

    db.run(work)


def ask_about_write(db: Database, project: int, item: int, question: str, options: list[str]) -> int:
    """A question that blocks nothing: its story stays leased, the agent waits for the answer. The question's number."""

    def work(c: Connection) -> int:
        params = {"project": project, "item": item, "question": question, "options": options}
        row = c.execute(sql("ask_about_write"), params).fetchone()
        assert row is not None
        write_events(c, project, item, ((EventKind.ISSUE_OPENED, {"question": question}),))
        return int(row["id"])

    return db.run(work)


def answer_about_write(db: Database, project: int, issue: int) -> str | None:
    """What was answered, or None as long as nobody did."""
    row = db.one("issue", project=project, issue=issue) if issue < LARGEST_NUMBER else None
    return row["answer"] if row is not None and row["closed_at"] is not None else None


def close_write_questions(db: Database, item: int, answer: str) -> None:
    """Nobody waits for them any more: the step is over, or its worker died."""
    db.all("close_write_questions", item=item, answer=answer)


def landing_question(db: Database, item: int, option: str = recovery.LAND_NOW) -> str | None:
    """What is asked about a file of the person's that holds this story's landing, or by a wait with another option."""
    row = db.one("landing_question", item=item, option=option)
    return str(row["question"]) if row else None


def close_landing_questions(
    db: Database, project: int, item: int, answer: str, option: str = recovery.LAND_NOW
) -> None:
    """Nothing holds it any more, whoever saw to that."""

    def work(c: Connection) -> None:
        params = {"item": item, "answer": answer, "option": option}
        for row in c.execute(sql("close_landing_questions"), params).fetchall():
            write_events(c, project, item, ((EventKind.ISSUE_ANSWERED, {"issue": row["id"], "answer": answer}),))

    db.run(work)


def land_now(db: Database, project: int, issue: Row, answer: str) -> None:
    """Whoever waits for a file of the person's looks at once."""
    close(db, project, issue, answer)
    db.do("wake_landing", item=issue["item_id"])


def hold(db: Database, project: int, repo: int, reason: str) -> int:
    """Stop a repository: nothing of it starts, its workers are shut out, their stories keep their files."""
    row = db.one("hold_repo", project=project, repo=repo, reason=reason)
    assert row is not None
    return int(row["hold"])


def release_hold(db: Database, project: int, repo: int) -> int:
    """End every hold of a repository; how many there were."""
    row = db.one("release_repo", project=project, repo=repo)
    assert row is not None
    return int(row["ended"])


def _locked(c: Connection, project: int, story: str) -> Row:
    params = {"project": project, "story": story}
    c.execute(sql("lock_story"), params)
    row = c.execute(sql("story_for_update"), params).fetchone()
    if row is None:
        raise NotThere(f"there is no story {story!r} in this project. See them all: damascus status --all")
    return row


def _landing_begun(c: Connection, row: Row) -> bool:
    """A landing that recorded its intent may already have moved main: only its worker or heir can tell."""
    return c.execute(sql("landing_begun"), {"item": row["id"], "run": row["run_no"]}).fetchone() is not None


def _take_lease(c: Connection, row: Row) -> bool:
    return c.execute(sql("drop_lease_of"), {"id": row["id"]}).fetchone() is not None


def _let_go(c: Connection, row: Row, answer: str, *, keep_scope: bool = False) -> None:
    c.execute(sql("drop_barrier" if keep_scope else "free_scope"), {"item": row["id"]})
    c.execute(sql("drop_worker_record"), {"item": row["id"]})
    c.execute(sql("leave_queue"), {"item": row["id"]})
    c.execute(sql("close_issues"), {"item": row["id"], "answer": answer})


def _moved(row: Row, to: str) -> Event:
    return (EventKind.PHASE_TRANSITIONED, {"from": row["phase"], "to": to, "why": "a person"})
