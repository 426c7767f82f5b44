"""Looks again whether done stories are on main. «Done but not on main» is an alarm, a later revert is reported (X4)."""

import re

from damascus.domain.ids import Sha, short
from damascus.engine.tools import Tools
from damascus.store.db import Connection, sql
from damascus.store.journal import write_events

REVERT = re.compile(r"This reverts commit ([0-9a-f]{40})")


def check_landed(tools: Tools) -> list[str]:
    """The stories for which an alarm was raised now."""
    done = tools.db.all("done_stories", repo=tools.project.repo_id)  # before main: who lands meanwhile is no alarm
    tip = tools.forge.main_tip()
    reverted = _reverts(tools, tip)
    alarmed = []
    for row in done:
        commit = Sha(row["merged_commit"])
        if commit in reverted and not row["reverted"]:
            _report(tools, row["id"], "story.reverted", f"{row['story_id']} ({short(commit)}) was reverted", ask=False)
        if not row["alarmed"] and not _is_there(tools, commit, tip):
            text = f"{row['story_id']} is done, but its commit {short(commit)} is not on {tools.target}. Look at main."
            _report(tools, row["id"], "story.not_on_main", text, ask=True)
            alarmed.append(row["story_id"])
    return alarmed


def _is_there(tools: Tools, commit: Sha, tip: Sha) -> bool:
    """Reachable, or (after a squash or rebase by a person) there by the same patch."""
    if tools.mirror.is_ancestor(commit, tip):
        return True
    patch = tools.mirror.patch_id(commit)
    return patch is not None and patch in tools.mirror.reachable_patch_ids(tip, None)


def _reverts(tools: Tools, tip: Sha) -> set[str]:
    return set(REVERT.findall(tools.mirror.git.out("log", "--format=%B", "-n", "500", tip)))


def _report(tools: Tools, item_id: int, kind: str, text: str, *, ask: bool) -> None:
    def work(c: Connection) -> None:
        write_events(c, tools.project.id, item_id, ((kind, {"message": text}),))
        if ask:
            params = {"project": tools.project.id, "item": item_id, "question": text, "owner": "you"}
            c.execute(sql("open_issue"), params | {"options": ["it was meant so"]})
            write_events(c, tools.project.id, item_id, (("issue.opened", {"question": text}),))

    tools.db.run(work)
