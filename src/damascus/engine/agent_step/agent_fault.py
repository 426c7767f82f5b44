"""No agent can work: a wrong key, model, gateway or program is no story's fault, and is asked about once for all.

Nobody is charged. Each story that wants an agent waits, and goes on in a new run: the cure may be another file on
main. It is over when a person says so, when the same probe finds nothing any more, or when a new worker tries it.
"""

from collections.abc import Iterable
from contextlib import suppress

from damascus.domain.config import Config
from damascus.domain.errors import AgentBroken, DamascusError, GitError, TransientError
from damascus.domain.outcome import Wait
from damascus.domain.ports import Probed
from damascus.domain.recovery import QuestionAbout
from damascus.domain.roles import Traits, model_for
from damascus.domain.waits import WaitKind
from damascus.engine.agent_step.spending import NotSent, Purse
from damascus.engine.run import Run
from damascus.engine.tools import Tools
from damascus.store import graph
from damascus.store.db import Connection, sql
from damascus.system.hostid import host_name

ABOUT = QuestionAbout.AGENT
OPTIONS = ("it is mended",)
MOST_WORDS = 500


def refuse(run: Run, purse: Purse) -> None:
    """Before an agent step begins: raise NotSent while no agent can work. The gateway is asked once for a worker."""
    tools, model, role = run.tools, purse.dispatch.model, purse.dispatch.role
    agent = tools.agent_for(role)
    known = (agent.name if agent else "", model)
    asked = tools.db.one("agent_asked", project=tools.project.id)
    if asked is not None:
        raise NotSent(_waits(run, asked["about"]["fault"]))
    with tools.proved.lock:
        if known in tools.proved.models:
            return
        found = _probed(tools, purse.config, model, role)
        if not found:
            tools.proved.models.add(known)
            return
    raise NotSent(stop(run, AgentBroken(found), purse.config, role, probed=True))


def _probed(tools: Tools, config: Config, model: str, role: str) -> str:
    agent = tools.agent_for(role)
    return agent.fault(model, ping=config.agent.ping) if isinstance(agent, Probed) else ""


def stop(run: Run, err: AgentBroken, config: Config, role: str, *, probed: bool | None = None) -> Wait:
    """Ask, once for the project. `probed`: the probe sees it too, so the probe can tell that it is over."""
    tools, text = run.tools, " ".join(str(err).split())
    model = model_for(role, config.models, Traits()).model
    tools.proved.forget()
    seen = bool(_probed(tools, config, model, role)) if probed is None else probed
    about = {"repo": tools.project.repo_id, "about": ABOUT, "fault": text[:MOST_WORDS], "host": host_name()}
    about |= {"role": role, "model": model, "probed": seen}
    words = f"{text} No agent is sent, nothing is charged, and all stories go on once it is mended."
    question = graph.RepoQuestion(words, OPTIONS, about)

    def work(c: Connection) -> None:
        c.execute(sql("lock_agent"), {"project": tools.project.id})  # all stories meet it at the same moment
        if c.execute(sql("agent_asked"), {"project": tools.project.id}).fetchone() is None:
            graph.ask(c, tools.project.id, question)

    tools.db.run(work)
    return _waits(run, text)


def _waits(run: Run, text: str) -> Wait:
    """Also said where `logs` looks for what the agent said."""
    transcript = run.folder / "transcript.txt"
    run.folder.mkdir(parents=True, exist_ok=True)
    with transcript.open("a", encoding="utf-8") as file:
        file.write(f"damascus: no agent can work: {text}\n")
    return Wait(WaitKind.AGENT, text[:MOST_WORDS], message=text, anew=True)


def look_after(tools: Tools, *, anew: bool = False) -> None:
    """Once it is over the question goes and nobody waits any longer. `anew`: a new worker tries what no probe tells."""
    who = {"project": tools.project.id}
    asked = tools.db.one("agent_asked", **who)
    if asked is not None and _over(tools, asked["about"], anew=anew):
        answer = "a new worker tries it again" if anew else "it is mended"
        tools.db.run(lambda c: graph.close(c, tools.project.id, tools.project.repo_id, ABOUT, answer))
    tools.db.do("wake_agent", **who)


def look_after_all(everyone: Iterable[Tools], *, anew: bool = False) -> None:
    """A repository that can't be read at the moment is the place's fault, and told there."""
    for tools in everyone:
        with suppress(DamascusError, TransientError, GitError, KeyError, OSError):
            look_after(tools, anew=anew)


def _over(tools: Tools, about: dict[str, object], *, anew: bool) -> bool:
    """Who asked looks again, with the settings of now: another host may have another key."""
    if about["repo"] != tools.project.repo_id or about.get("host") != host_name() or tools.agent is None:
        return False
    if not (anew or about.get("probed")):
        return False
    config = tools.read_config(tools.forge.main_tip())
    known = {config.models.fast, config.models.strong, *config.models.roles.values()}
    model = about["model"] if about["model"] in known else model_for(str(about["role"]), config.models, Traits()).model
    found = _probed(tools, config, str(model), str(about["role"]))
    return not found or (anew and found[:MOST_WORDS] != about["fault"])  # another fault is asked about anew
