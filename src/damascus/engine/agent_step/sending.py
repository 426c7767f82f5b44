"""An agent is sent to work: overseen, paid for, its writes checked, and what its end means told in one place."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from damascus.domain.config import Config
from damascus.domain.errors import AgentBroken, Stopping, TransientError
from damascus.domain.failures import AGENT_UNAVAILABLE, REFUSING_STATUS
from damascus.domain.oversight import StepLimits
from damascus.domain.ports import Agent, AgentRun, Brief, Denial, Probed, Usage, Watch
from damascus.domain.roles import Traits, Writable, model_for, role_of, writes_files
from damascus.domain.signs import EndedBy
from damascus.engine.agent_step import briefs
from damascus.engine.agent_step.oversight import StepOverseer, Telling, traces
from damascus.engine.agent_step.spending import Purse
from damascus.engine.run import Run
from damascus.engine.step import Step
from damascus.engine.tools import nothing
from damascus.git.workspaces import Workspace
from damascus.store.spending import Dispatch
from damascus.system import modes
from damascus.system.checkouts import checkout_environment
from damascus.system.masking import masked
from damascus.writes.inbox import TIME_LIMIT as PERSON_TAKES
from damascus.writes.pipeline import Pipeline

RATE_LIMIT = 429
PROMPT = "prompt.md"
"""What the agent was told, beside its transcript."""


@dataclass(frozen=True)
class Sent:
    """What an agent's run came to, as the orchestrator saw it."""

    done: AgentRun
    ended: EndedBy
    usage: Usage
    denial: Denial | None = None
    api_status: int = 0
    refused: bool = False
    resets_in: float | None = None
    broken: str = ""


def send(run: Run, step: Step[Any], given: Brief, workspace: Workspace, *, writes: Pipeline, purse: Purse) -> Sent:
    """Run the agent under its overseer. The hard limit is the process runner's, all others are the overseer's."""
    agent, config = run.tools.agent_for(given.role), purse.config
    assert agent is not None
    purse.uses(model_for(given.role, config.models, given.traits).model)
    limits = StepLimits.of(config, purse.tokens, purse.dollars, purse.price)
    if not writes_files(given.role):
        limits = replace(limits, first_write=0.0)
    if config.writes.gate == "person":
        limits = replace(limits, idle=max(limits.idle, 2 * PERSON_TAKES))
    watch = _watch(run, step, given, purse, limits.most)
    folder = agent_folder(run, step, purse.dispatch.key)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROMPT).write_text(masked(watch.prompt, watch.env.values()), encoding="utf-8", errors="replace")
    overseer = StepOverseer(limits, partial(traces, workspace.path, watch.transcript))
    purse.latest = overseer.usage
    run.on_heartbeat = telling = Telling(run, overseer, purse)
    private = private_folder(run)
    try:
        with checkout_environment(private, run.tools.ports) as own:
            watched = replace(
                watch, overseer=overseer, stopping=_stopping(run, overseer), writes=writes,
                checkout={**watch.checkout, **own},
                writable=(private, run.artifacts),
                read_only=role_of(given.role).writes is Writable.NOTHING,
            )  # fmt: skip
            run.tools.log.info("agent started", **_facts(run, given), agent=agent.name, model=watch.model)
            done = agent.run(given, workspace.path, watched)
    finally:
        run.on_heartbeat = nothing
        shutil.rmtree(private, ignore_errors=True)
        for left in (workspace.path, run.tools.folder / "homes" / run.item.story_id):
            modes.strip(left)
    purse.latest = partial(overseer.usage, done)
    telling.finish()
    seen, ended = overseer.seen, overseer.verdict(done)
    how = {"exit_code": done.exit_code, "ended": ended, "stopped": done.stopped}
    run.tools.log.info("agent ended", **_facts(run, given), **how, tokens=overseer.usage(done).tokens)
    return Sent(
        done=done,
        ended=ended,
        broken=_broken(done, purse, agent, seen.api_status if ended == EndedBy.API_ERRORS else 0),
        usage=overseer.usage(done),
        denial=seen.denied or done.denial,
        api_status=seen.api_status,
        refused=seen.refused and not done.unavailable,
        resets_in=done.resets_in if done.resets_in is not None else overseer.resets_in(),
    )


def _facts(run: Run, given: Brief) -> dict[str, object]:
    return {"story": run.item.story_id, "run": run.item.run_no, "step": given.step, "role": given.role}


def _broken(done: AgentRun, purse: Purse, agent: Agent, status: int) -> str:
    """Why no agent can work. One that was answered before is believed only if the gateway refuses us, too."""
    model, ping = purse.dispatch.model, purse.config.agent.ping
    told = done.broken
    if not told and status in REFUSING_STATUS:
        told = f"the model gateway answers {status} for model {model}. Correct its key, address or the model's name."
    if told and done.usage.tokens and ping and isinstance(agent, Probed) and agent.pings:
        return agent.fault(model, ping=True)
    return told


def private_folder(run: Run) -> Path:
    """What the story's checkout has for itself while an agent works in it."""
    return run.tools.folder / "private" / run.item.story_id


def _watch(run: Run, step: Step[Any], given: Brief, purse: Purse, most: float) -> Watch:
    config = purse.config
    named = (Path(name).expanduser() for name in config.agent.readable)
    run.artifacts.mkdir(parents=True, exist_ok=True)
    needed, folder = run.tools.upstreams(), agent_folder(run, step, purse.dispatch.key)
    return Watch(
        prompt=briefs.prompt(given),
        brief_file=folder / "brief.json",
        report_file=folder / "report.json",
        transcript=folder / "transcript.txt",
        timeout=most,
        stopping=run.stopping,
        started=lambda process: run.note(step, purse.dispatch.key, {"role": given.role, "process": dict(process)}),
        env=passed_on(config.workspace.env),
        log_limit=config.limits.log_max_mb * 1_000_000,
        model=purse.dispatch.model,
        max_turns=config.agent.max_turns,
        readable=(run.tools.mirror.path, *needed.values(), *named),
        setup_home=run.tools.home_of(run.tools.workspaces.path(run.item.story_id)),
        checkout={name: str(path) for name, path in needed.items()},
    )


def agent_folder(run: Run, step: Step[Any], key: str) -> Path:
    """Brief, prompt, transcript and report of one agent: of a run with several, each has a folder of its own."""
    return run.folder / f"{step.name}-{key}" if key else run.folder


def passed_on(names: list[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def _stopping(run: Run, overseer: StepOverseer) -> Callable[[], bool]:
    """Also an adapter that knows of no overseer ends its agent when this says so."""
    return lambda: run.stopping() or bool(overseer.end())


def is_stopped(sent: Sent) -> bool:
    """The worker stops, or the item was taken from it: the agent was ended for no fault of its own."""
    return sent.done.stopped and not sent.ended


def raise_if_outside(sent: Sent) -> None:
    """Raise what is no fault of the story: nothing is charged for it, and it is tried again (T1, T2)."""
    done = sent.done
    if is_stopped(sent):
        raise Stopping
    if sent.broken:
        raise AgentBroken(sent.broken)
    if done.exit_code == AGENT_UNAVAILABLE:
        raise TransientError("the agent says that its provider is unavailable (exit 75)", wait=sent.resets_in)
    if done.unavailable or (sent.ended == EndedBy.API_ERRORS and not sent.refused):
        limited = sent.api_status == RATE_LIMIT
        why = done.unavailable or ("its rate limit is reached" if limited else EndedBy.API_ERRORS.means)
        raise TransientError(f"the model's provider is unavailable: {why}", wait=sent.resets_in)


def purse_for(run: Run, step: Step[Any], key: str, config: Config) -> Purse:
    """The purse of one agent step; its model is the role's until the brief says more."""
    model = model_for(step.role, config.models, Traits()).model
    return Purse(run, config, Dispatch(run.item, step.name, step.role, model, key))
