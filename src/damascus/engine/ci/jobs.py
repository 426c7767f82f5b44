"""The jobs that CI runs here: the project's own, and beside them the story's Test Command."""

from damascus.domain.config import Config
from damascus.domain.ids import Sha
from damascus.domain.ports import GateName, Job
from damascus.domain.spec import Spec
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.run import Run
from damascus.engine.steps.verify import VERIFY
from damascus.stacks.suite import RED_TOO, Suite, suite_of

TEST = "test"
STORY = "story"
"""The default jobs: the project's own suite, and beside it the story's Test Command."""


def ci_jobs(run: Run, spec: Spec, commit: Sha, onto: Sha) -> dict[str, Job]:
    """The jobs are named by the base commit's config: no agent can drop one (W1).

    A suite that is red on the base too is no job: the gate `suite` has said which of its tests count, and which not.
    """
    config = run.tools.read_config(onto)
    suite = _suite(run, config, onto)
    if config.ci.jobs or not suite.command or not _suite_passed(run, commit):
        return _made(run, config, commit, config.ci.jobs or {TEST: spec.test_command})
    own = {} if suite.command == spec.test_command else {STORY: spec.test_command}
    return _made(run, config, commit, {TEST: suite.command, **own})


def project_jobs(run: Run, commit: Sha) -> dict[str, Job]:
    """What says something about main itself: no story's Test Command does."""
    config = run.tools.read_config(commit)
    suite = _suite(run, config, commit)
    return _made(run, config, commit, config.ci.jobs or ({TEST: suite.command} if suite.command else {}))


def _suite(run: Run, config: Config, onto: Sha) -> Suite:
    mirror = run.tools.mirror
    return suite_of(config.test, mirror.listing(onto).files, lambda path: mirror.read(onto, path))


def _suite_passed(run: Run, commit: Sha) -> bool:
    judged = run.result(VERIFY, commit)
    suite = judged.of(GateName.SUITE) if judged else None
    return suite is not None and not suite.findings and not any(RED_TOO in name for name in suite.unverified)


def _made(run: Run, config: Config, commit: Sha, commands: dict[str, str]) -> dict[str, Job]:
    tree = run.tools.mirror.tree(commit)
    limit, env = config.test.timeout_seconds, passed_on(config.workspace.env)
    return {
        name: Job(tree, command, limit, f"ci-{name}", run.folder / f"ci-{name}.log", env)
        for name, command in commands.items()
    }
