"""The builder halts for five reasons and no other (A2): what a worker looks at, and when it is over.

root: the task alone is blocked: set-up was refused (git/setup.py), or an agent says so (agent_step/results.py).
blocked: so many attempts in a row ended blocked, over all tasks. Counted when one does, and again and again beside.
secret: `[secrets] required` names what is not set here, so that this worker begins nothing; or a task's contract does.
stale, ship: a person's acts (store/stale.py, people/shipping.py).
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from damascus.domain import recovery
from damascus.domain.errors import DamascusError, GitError, TransientError
from damascus.domain.outcome import Wait
from damascus.domain.secret_names import variables_in
from damascus.domain.spec import Spec
from damascus.domain.waits import WaitKind
from damascus.engine.run import Run
from damascus.engine.tools import Tools
from damascus.store import halts, people
from damascus.system.hostid import host_name

LOOK = timedelta(minutes=5)


def count_blocked(tools: Tools) -> bool:
    """True: the builder halts now."""
    limit = tools.read_config(tools.forge.main_tip()).tasks.blocked_in_a_row
    return halts.halt_if_blocked(tools.db, tools.project.id, limit)


def look_at_halts(tools: Tools) -> None:
    count_blocked(tools)


def lacking(everyone: Iterable[Tools]) -> str | None:
    """When a worker begins: why it may begin nothing, asked once; None if all required secrets are there. A process'
    environment never changes, so that is known once and for all."""
    each = list(everyone)
    tools = each[0]
    halts.wake_secrets(tools.db, tools.project.id)
    wanted: list[str] = []
    for one in each:
        with suppress(DamascusError, TransientError, GitError, KeyError, OSError):  # the place's fault is told there
            count_blocked(one)
            wanted += one.read_config(one.forge.main_tip()).secrets.required
    missing = [name for name in dict.fromkeys(wanted) if not os.environ.get(name)]
    if not missing:
        halts.secrets_are_set(tools.db, tools.project.id, host_name())
        return None
    halts.ask_for_secrets(tools.db, tools.project.id, missing, host_name())
    return f"{', '.join(missing)} of [secrets] required is not set: set it and start the worker again"


def missing_secret(run: Run, spec: Spec) -> Wait | None:
    """Before a task is begun: a variable that its contract names and nobody has set. Asked once, closed by itself."""
    names = [name for one in spec.contracts for name in variables_in(one.command)]
    missing = [name for name in dict.fromkeys(names) if not os.environ.get(name)]
    db, item = run.tools.db, run.item
    asked = people.landing_question(db, item.id, recovery.IT_IS_SET) if names else None
    if not missing:
        if asked is not None:
            people.close_landing_questions(db, item.project_id, item.id, "it is set", recovery.IT_IS_SET)
        return None
    told = ", ".join(missing)
    question = (
        f"{item.story_id} is not begun: its test contract names {told}, which is not set where the worker runs. Set it "
        "there (and name it in [workspace] env), then start the worker again; it goes on by itself."
    )
    options = (recovery.IT_IS_SET, recovery.CANCEL)
    wanted = "" if asked == question else question
    if asked is not None and wanted:
        people.close_landing_questions(db, item.project_id, item.id, "another one is missing", recovery.IT_IS_SET)
    return Wait(WaitKind.SECRET, told[:500], LOOK, question, question=wanted, options=options)
