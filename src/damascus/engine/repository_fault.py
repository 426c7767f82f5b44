"""A fault of the place is no story's: it is asked about once for the whole repository, in plain words.

The place is the user's repository, its main branch, damascus.toml there, and our mirror. What is ours is made anew by
itself. For the rest every story waits, nothing charged, and goes on by itself once it is mended.
"""

import os
import re
from pathlib import Path

from damascus.domain.errors import DamascusError, GitError, TransientError
from damascus.domain.outcome import Transient
from damascus.domain.recovery import QuestionAbout
from damascus.engine.tools import Tools
from damascus.store import graph
from damascus.store.db import Connection, sql

ABOUT = QuestionAbout.PLACE
OPTIONS = ("it is mended",)
DAMAGED = re.compile(
    r"is corrupt|unable to read|data stream error|bad object|missing (blob|tree|commit)|not a valid object|"
    r"could not get object info|object directory .* does not exist|not a git repository|invalid object",
    re.IGNORECASE,
)


def trouble(tools: Tools, err: Exception) -> Transient | None:
    """What the story meets, if it is the place's fault; None: it is the story's, or ours."""
    branch, mirror = tools.project.main_branch, tools.mirror
    mirror.distrusted = mirror.distrusted or (isinstance(err, GitError) and bool(DAMAGED.search(err.stderr)))
    gone = mirror.main(branch) is None or _of_mirror(tools, err)
    found = fault(tools)
    if found is not None:
        ask(tools, found)
        return Transient(found)
    if gone or mirror.main(branch) is None:
        return Transient("our mirror of the repository was damaged or gone, and is made anew")
    return None


def fault(tools: Tools) -> str | None:
    """One sentence and what to do next. Looked at as every story does first: main, and the rules on it."""
    try:
        tools.read_config(tools.forge.main_tip())
    except TransientError:
        return None
    except (DamascusError, GitError, KeyError, OSError) as err:
        if _of_mirror(tools, err):
            return None
        return f"{tools.project.repo} can't be worked: {_plain(err)}"
    return _unwritable(tools)


def _of_mirror(tools: Tools, err: Exception) -> bool:
    """Deleted at this moment, or made anew by another story: the next look finds it whole."""
    return isinstance(err, FileNotFoundError) and Path(str(err.filename)).is_relative_to(tools.mirror.path)


def _plain(err: Exception) -> str:
    if isinstance(err, DamascusError):
        return str(err)
    return f"git can't read it ({str(err).strip()[-200:]}). Look at the repository and its disk: git fsck"


def _unwritable(tools: Tools) -> str | None:
    folder = Path(tools.project.path) / ".git"
    if tools.forge.name != "local" or not folder.is_dir() or os.access(folder, os.W_OK | os.X_OK):
        return None
    return (
        f"{tools.project.repo} can't be worked: nothing can be written in {folder}, so no story can land. "
        "Give back the right to write there (owner, mode, a mount that is read-only)."
    )


def ask(tools: Tools, text: str) -> None:
    about = {"repo": tools.project.repo_id, "about": ABOUT}
    words = f"{text} Every story waits, nothing is charged, and all go on by themselves once it is mended."
    question = graph.RepoQuestion(words, OPTIONS, about)

    def work(c: Connection) -> None:
        c.execute(sql("lock_place"), {"repo": tools.project.repo_id})  # all stories meet it at the same moment
        graph.ask(c, tools.project.id, question)

    tools.db.run(work)


def look_after(tools: Tools) -> bool:
    """Once it is mended the question goes and nobody waits any longer. True: it is mended now."""
    who = {"project": tools.project.id, "repo": tools.project.repo_id}
    if tools.db.one("place_asked", **who) is None or fault(tools) is not None:
        return False

    def work(c: Connection) -> None:
        graph.close(c, tools.project.id, tools.project.repo_id, ABOUT, "it is mended")
        c.execute(sql("wake_waiting"), who)

    tools.db.run(work)
    return True
