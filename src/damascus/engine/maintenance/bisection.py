"""Which upstream commit broke a main that stood still: its own CI jobs against one upstream commit after the other.

Between the upstream tips with which it was last green and those of now, halving the way each time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from damascus import stacks
from damascus.domain.breakage import Breakage
from damascus.domain.ids import Sha, short
from damascus.domain.ports import Job
from damascus.engine.tools import Tools

Tips = Mapping[int, Sha]
Jobs = Callable[[Tools, Sha, Tips], dict[str, Job]]


def first_red(commits: Sequence[Sha], is_red: Callable[[Sha], bool]) -> Sha:
    """Oldest first; the last is known to be red, the one before the first to be green."""
    low, high = 0, len(commits) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_red(commits[middle]) else (middle + 1, high)
    return commits[low]


class Search:
    """For the cause of one repository's redness. `jobs` makes its CI jobs with given upstream commits."""

    def __init__(self, everyone: Mapping[int, Tools], repo: int, jobs: Jobs) -> None:
        self.everyone = everyone
        self.tools = everyone[repo]
        self.jobs = jobs

    def cause(self, sha: Sha, then: Tips, now: Tips) -> Breakage:
        """`then`: the upstream tips with which this very commit was green."""
        failed = self._red(sha, now)
        project = self.tools.project
        plain = Breakage(project.repo_id, project.repo, sha, failed or "CI")
        if not self.jobs(self.tools, sha, now):
            return _because(plain, "its damascus.toml has no [ci.jobs] with which the commit could be searched for")
        if not failed:
            return _because(plain, "its [ci.jobs] are green here")
        if self._red(sha, then):
            return _because(plain, "it is red with the upstream commits with which it was green as well")
        for up in (up for up, tip in now.items() if then.get(up) not in (None, tip)):
            if found := self._of(up, sha, then, now[up]):
                return self._named(plain, up, found)
        moved = ", ".join(f"{self.everyone[up].project.repo} {short(tip)}" for up, tip in now.items())
        return _because(plain, f"no single upstream repository breaks it, only these together: {moved}")

    def _of(self, up: int, sha: Sha, then: Tips, tip: Sha) -> Sha | None:
        """The first commit of this repository that breaks it, the others being as they were."""
        if not self._red(sha, {**then, up: tip}):
            return None
        git, was = self.everyone[up].mirror.git, then[up]
        between = git.out("rev-list", "--first-parent", "--reverse", tip, f"^{was}").split()
        commits = [Sha(line) for line in between] or [tip]
        return first_red(commits, lambda commit: bool(self._red(sha, {**then, up: commit})))

    def _red(self, sha: Sha, tips: Tips) -> str:
        """The first job that is not green; "" when all are."""
        assert self.tools.runner is not None
        for name, job in self.jobs(self.tools, sha, tips).items():
            if not self.tools.runner.run(job).green:
                return f"job {name} failed"
        return ""

    def _named(self, plain: Breakage, up: int, commit: Sha) -> Breakage:
        tools = self.everyone[up]
        parents = tools.mirror.git.out("rev-list", "--parents", "-n", "1", commit).split()[1:]
        changed = tools.mirror.changed(Sha(parents[0]), commit) if parents else ()
        config = tools.read_config(commit)
        tests = [file.path for file in changed if stacks.is_test(file.path, config.test.patterns)]
        return replace(
            plain,
            up=up,
            upstream=tools.project.repo,
            commit=commit,
            subject=tools.mirror.message(commit).splitlines()[0],
            files=[file.path for file in changed],
            tests=tests,
            command=" && ".join(config.ci.jobs.values()),
        )


def _because(plain: Breakage, note: str) -> Breakage:
    return replace(plain, note=note)
