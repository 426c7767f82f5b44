"""Looks again whether done stories are on main. "Done but not on main" is an alarm, a later revert is reported (X4)."""

import re

from damascus.domain.events import EventKind
from damascus.domain.ids import Sha, short
from damascus.engine.on_main import Main
from damascus.engine.tools import Tools
from damascus.store.db import Connection, sql
from damascus.store.journal import write_events

REVERT = re.compile(r"This reverts commit ([0-9a-f]{40})")


def check_landed(tools: Tools) -> list[str]:
    """The stories for which an alarm was raised now."""
    main = main_of(tools)
    known, found = main.look()
    reverts = _reverts(tools, Sha(found.tip))
    rows = tools.db.all("done_stories", repo=tools.project.repo_id, names=list(found.missing), commits=sorted(reverts))
    alarmed = []
    for row in rows:
        commit, name = Sha(row["merged_commit"]), row["story_id"]
        if commit in reverts and not row["reverted"]:
            _report(tools, row["id"], EventKind.STORY_REVERTED, f"{name} ({short(commit)}) was reverted", ask=False)
        if name in found.missing and not (row["alarmed"] and name in known.missing):
            text = f"{name} is done, but its commit {short(commit)} is not on {tools.target}. Look at main."
            _report(tools, row["id"], EventKind.STORY_NOT_ON_MAIN, text, ask=not row["asked"])
            alarmed.append(name)
    if found != known:
        main.note(found)
    return alarmed


def main_of(tools: Tools) -> Main:
    """Main as the forge has it at this moment; the mirror has its commits then."""
    mirror, tip = tools.mirror, tools.forge.main_tip
    return Main(tools.db, tools.project, tools.folder, mirror.git, lambda: mirror, tip)


def _reverts(tools: Tools, tip: Sha) -> set[str]:
    return set(REVERT.findall(tools.mirror.git.out("log", "--format=%B", "-n", "500", tip)))


def _report(tools: Tools, item_id: int, kind: EventKind, text: str, *, ask: bool) -> None:
    def work(c: Connection) -> None:
        write_events(c, tools.project.id, item_id, ((kind, {"message": text}),))
        if ask:
            params = {"project": tools.project.id, "item": item_id, "question": text, "owner": "you"}
            c.execute(sql("open_issue"), params | {"options": ["it was meant so"]})
            write_events(c, tools.project.id, item_id, ((EventKind.ISSUE_OPENED, {"question": text}),))

    tools.db.run(work)
