"""CI of the mains that depend on each other: an upstream one goes red, and what depends on it pauses (W20).

Roots first: a main is judged once everything above it is known not to be red, on the local forge by its own [ci.jobs]
with checkouts of exactly those upstream tips (engine/upstreams.py), on another forge by what its CI says of the SHA. A
main that turned red without a commit of its own while an upstream one moved was broken from above: the commit is
searched for (engine/maintenance/bisection.py), and a person is asked what to do about it (domain/breakage.py).

Any number of processes may look: one at a time judges a repository, and only a change is written down. Where no
repository needs another, a look at the database is all this costs.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

from damascus.domain import breakage
from damascus.domain.errors import UsageError
from damascus.domain.graph import Declared, Graph, MainState
from damascus.domain.ids import Sha, short
from damascus.domain.ports import CiRun, Job, WantedJobs
from damascus.domain.recovery import QuestionAbout
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.maintenance.bisection import Search
from damascus.engine.tools import Tools
from damascus.engine.upstreams import Upstreams
from damascus.store import graph, people
from damascus.store.graph import Judgement, Repo, RepoQuestion

LOOK = 1.0
SELDOM = 15.0
"""How often, in seconds, main's damascus.toml is looked at where no repository needs another."""


class Cascade:
    """`everyone` are the tools of the project's repositories on this host, by number."""

    every = LOOK

    def __init__(self, everyone: Mapping[int, Tools]) -> None:
        self.everyone = everyone
        self.first = next(iter(everyone.values()))
        self._due: dict[int, float] = {}
        self._since: dict[str, float] = {}

    def look(self) -> None:
        """One round: what main's damascus.toml says, then CI of every main of a chain, roots first."""
        db, project = self.first.db, self.first.project.id
        known = {repo.id: repo for repo in graph.repos(db, project)}
        net = graph.graph(db, project)
        due = [repo for repo in net.roots_first() if repo in self.everyone and self._is_due(repo, net)]
        for repo in due:
            self._declare(known[repo], net)
        for repo in due:
            if repo in net.linked():
                self._look_at(repo, net)

    def _is_due(self, repo: int, net: Graph) -> bool:
        """A look at the own disk costs nothing; a forge elsewhere is asked as often as [ci] look_seconds says."""
        now, tools, linked = time.monotonic(), self.everyone[repo], repo in net.linked()
        if now < self._due.setdefault(repo, now if linked else now + SELDOM):
            return False
        if not linked:
            self._due[repo] = now + SELDOM
        elif not tools.forge.runs_ci:
            self._due[repo] = now + tools.read_config(tools.forge.main_tip()).ci.look_seconds
        return True

    # ── what main's damascus.toml says ────────────────────────────────────────────────────────────────

    def _declare(self, row: Repo, net: Graph) -> None:
        """Its name, its needs and its bound. Needs that can't be met stop the repository: nobody knows what is safe."""
        tools = self.everyone[row.id]
        config = tools.read_config(tools.forge.main_tip())
        said = Declared(row.id, config.project.name or row.name, tuple(config.repo.needs), config.repo.max_workers)
        needs = {net.names[up].lower() for up, down in net.edges if down == row.id}
        if (said.name, {need.lower() for need in said.needs}, said.max_workers) == (row.name, needs, row.max_workers):
            return
        try:
            graph.declare(tools.db, tools.project.id, [said])
        except UsageError as err:
            held = {hold["reason"] for hold in tools.db.all("view_repo_holds", project=tools.project.id)}
            if str(err) not in held:
                people.hold(tools.db, tools.project.id, row.id, str(err))

    # ── CI of one main ────────────────────────────────────────────────────────────────────────────────

    def _look_at(self, repo: int, net: Graph) -> None:
        tools = self.everyone[repo]
        rows = {row.id: row for row in graph.repos(tools.db, tools.project.id)}
        above = {up: rows[up] for up in net.above(repo)}
        if not above.keys() <= self.everyone.keys() or not all(_is_fine(row) for row in above.values()):
            return
        tips = {up: Sha(row.ci_sha) for up, row in sorted(above.items()) if row.ci_sha}
        row, tip = rows[repo], tools.forge.main_tip()
        wanted = Judgement(repo, tip, tips, None)
        if (
            tools.forge.runs_ci
            and row.ci_state != MainState.PENDING
            and (row.ci_sha, row.ci_with) == (tip, wanted.with_json)
        ):
            return
        with graph.alone(tools.db, repo) as mine:
            if mine:
                self._judge(row, tip, tips)

    def _judge(self, row: Repo, tip: Sha, tips: Mapping[int, Sha]) -> None:
        tools = self.everyone[row.id]
        jobs = self._jobs(tools, tip, tips)
        ci = tools.forge.ci(tip, jobs) if jobs or not tools.forge.runs_ci else CiRun(sha=tip, run_id="")
        if jobs and tools.forge.runs_ci and self._state_of_main(tools, ci)[0] is MainState.RED:
            ci = tools.forge.ci(tip, jobs)  # once more: a test that is red by chance stops nobody
        state, text = self._state_of_main(tools, ci)
        told = Judgement(row.id, tip, tips, state, text)
        if (row.ci_sha, row.ci_with, row.ci_state) == (tip, told.with_json, state):
            return
        if state == MainState.RED and row.red_since is None:
            self._tell_red(row, told)
        else:
            graph.judge(tools.db, tools.project.id, told)

    def _jobs(self, tools: Tools, tip: Sha, tips: Mapping[int, Sha]) -> dict[str, Job]:
        """The jobs of main's own config, on its tip, with exactly these upstream commits."""
        config, tree = tools.read_config(tip), tools.mirror.tree(tip)
        env, logs = passed_on(config.workspace.env), tools.folder / "main"
        needed = Upstreams(tools.db, tools.project, self.everyone).at(tips) if config.ci.jobs else {}
        limit = config.test.timeout_seconds
        return {
            name: Job(tree, command, limit, f"main-{name}", logs / f"{name}.log", env, upstreams=needed)
            for name, command in config.ci.jobs.items()
        }

    def _state_of_main(self, tools: Tools, ci: CiRun) -> tuple[MainState | None, str]:
        """What a run says of a main. On a forge elsewhere it may not have begun yet."""
        config = tools.read_config(ci.sha).ci
        if not ci.jobs:
            since = self._since.setdefault(f"{tools.project.repo_id} {ci.sha}", time.monotonic())
            waits = not tools.forge.runs_ci and time.monotonic() - since < config.no_run_seconds
            return (MainState.PENDING, "no run has begun yet") if waits else (None, "no CI")
        wanted = replace(WantedJobs.of(config), optional=frozenset({*config.optional, config.mirror_job}))
        if not config.required and not config.jobs:
            wanted = replace(wanted, required=())
        if not ci.ended(wanted):
            return MainState.PENDING, "CI runs"
        if ci.green(wanted):
            return MainState.GREEN, "all green"
        told = ", ".join(f"{job.name} {job.state}" for job in ci.judged(wanted) if job.state != "success")
        return MainState.RED, told or "a job is missing"

    # ── red ───────────────────────────────────────────────────────────────────────────────────────────

    def _tell_red(self, row: Repo, told: Judgement) -> None:
        """Own commits first: only a main that stood still can have been broken from above."""
        tools = self.everyone[row.id]
        broken = None
        if row.green_sha == told.sha and row.green_with and row.green_with != told.with_json:
            then = {int(repo): Sha(sha) for repo, sha in row.green_with.items()}
            broken = Search(self.everyone, row.id, self._jobs).cause(Sha(told.sha), then, _shas(told))
        cause = {"upstream": broken.upstream, "broken_by": broken.commit} if broken and broken.commit else {}
        told = Judgement(told.repo, told.sha, told.upstream, told.state, told.text, cause)
        about = {"repo": row.id, "about": QuestionAbout.RED}
        if broken is None:
            waiting = sorted(self._below(row.id))
            text, options = breakage.plain_question(row.name, short(told.sha), told.text, waiting)
        else:
            text, options = breakage.question(broken), breakage.options(broken)
            about |= {"broken": broken.as_json()}
        graph.judge(tools.db, tools.project.id, told, RepoQuestion(text, options, about))

    def _below(self, repo: int) -> list[str]:
        net = graph.graph(self.first.db, self.first.project.id)
        return [net.names[down] for down in net.below(repo)]


def _is_fine(row: Repo) -> bool:
    """Judged, and not red: what stands on it can be judged too."""
    return row.ci_sha is not None and row.ci_state != MainState.PENDING and row.red_since is None


def _shas(told: Judgement) -> dict[int, Sha]:
    return {repo: Sha(sha) for repo, sha in told.upstream.items()}
