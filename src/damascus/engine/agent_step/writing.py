"""The write pipeline of an agent step, made from its run: what may be written, who is asked, where it is logged."""

from functools import cache

from damascus.domain.config import Config
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha
from damascus.domain.ports import Brief, ChangedFile, Finding
from damascus.domain.roles import Role
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.engine.agent_step.sending import private_folder
from damascus.engine.run import Run
from damascus.evidence.diff_paths import contract_tests
from damascus.git.workspaces import Workspace
from damascus.scanning.scanner import Scanner
from damascus.writes.after_step import changes
from damascus.writes.bounds import Bounds, kept_from
from damascus.writes.checks import Checks, self_test
from damascus.writes.compile_check import Compiler
from damascus.writes.inbox import InboxPerson
from damascus.writes.log import Origin, WriteLog
from damascus.writes.person import WritePerson
from damascus.writes.pipeline import PERSON, Pipeline
from damascus.writes.staging import FOLDER, Staging
from damascus.writes.terminal import TerminalPerson, has_terminal


def pipeline(
    run: Run, spec: Spec, config: Config, workspace: Workspace, given: Brief, *, accepted: frozenset[str] = frozenset()
) -> Pipeline:
    """Raises DamascusError when the pipeline lets pass what it must refuse: then no agent is sent. `accepted`: tests
    that only their author may still change."""
    item, tools, role = run.item, run.tools, given.role
    patterns = (*config.test.patterns, *contract_tests(spec))
    bounds = Bounds(Scope(item.file_scope), role, accepted, (item.spec_path, *kept_from(spec, config)), patterns)
    if why := proved(tools.quick_scanner):
        raise DamascusError(f"the write pipeline failed its self-test: {why}. Reinstall Damascus, then retry.")
    return Pipeline(
        workspace=workspace.path,
        origin=Origin(story=item.story_id, run=item.run_no, attempt=item.attempts + 1, step=given.step, role=role),
        checks=Checks(bounds, tools.quick_scanner),
        log=WriteLog(run.folder),
        settings=config.writes,
        person=_person(run) if config.writes.gate == PERSON else None,
        compiler=Compiler(
            workspace.path,
            tools.quick_scanner,
            private_folder(run) / "compile",
            level=tools.level,
            setup_home=tools.home_of(workspace.path),
        ),
        artifacts=run.artifacts,
    )


@cache
def proved(scanner: Scanner) -> str:
    """Once per process, in earnest: what is wrong with the pipeline, "" if nothing is."""
    return self_test(Checks(Bounds(Scope(("plain.py",)), Role.CODE_IMPLEMENTER), scanner))


def _person(run: Run) -> WritePerson:
    """Who approves each write: whoever sits at the terminal, else whoever looks into the inbox."""
    if has_terminal():
        return TerminalPerson(run.stopping)
    return InboxPerson(run.tools.db, run.item.project_id, run.item.id, Staging(run.tools.folder / FOLDER), run.stopping)


def role_findings(run: Run, writes: Pipeline, found: Sha, tree: Sha, changed: tuple[ChangedFile, ...]) -> list[Finding]:
    """The same checks over git's diff, so that every changed file is in the log: what a shell wrote, or an agent
    without hooks. Scope and secrets are judged again on the commit, by their gates; the role is judged here alone, by
    what it changed of the tree that it found."""
    read = run.tools.reader(len(changed))
    refused = writes.after_step(changes(changed, lambda path: read(found, path), lambda path: read(tree, path)))
    return [finding for finding in refused if finding.gate == "role"]
