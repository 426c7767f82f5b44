"""The write pipeline of an agent step, made from its run: what may be written, who is asked, where it is logged."""

from functools import cache

from damascus.domain.config import Config
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha
from damascus.domain.ports import Brief, ChangedFile, Finding
from damascus.domain.roles import IMPLEMENTER
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.engine.reading import reader
from damascus.engine.run import Run
from damascus.engine.sending import private_folder
from damascus.git.workspaces import Workspace
from damascus.scanning.scanner import Scanner
from damascus.writes.after_step import changes
from damascus.writes.bounds import Bounds
from damascus.writes.checks import Checks
from damascus.writes.compile_check import Compiler
from damascus.writes.inbox import InboxPerson
from damascus.writes.log import Origin, WriteLog
from damascus.writes.person import Person
from damascus.writes.pipeline import PERSON, Pipeline
from damascus.writes.self_test import self_test
from damascus.writes.staging import FOLDER, Staging
from damascus.writes.terminal import TerminalPerson, has_terminal


def pipeline(run: Run, spec: Spec, config: Config, workspace: Workspace, given: Brief) -> Pipeline:
    """Raises DamascusError when the pipeline lets pass what it must refuse: then no agent is sent."""
    item, tools, role = run.item, run.tools, given.role
    held_out = (f"{spec.acceptance.strip('/')}/",) if spec.acceptance else ()
    patterns = tuple(config.test.patterns)
    bounds = Bounds(Scope(item.file_scope), role, protected=(item.spec_path, *held_out), test_patterns=patterns)
    if why := proved(tools.quick_scanner):
        raise DamascusError(f"the write pipeline failed its self-test: {why}. Install Damascus anew, then retry.")
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
    return self_test(Checks(Bounds(Scope(("plain.py",)), IMPLEMENTER), scanner))


def _person(run: Run) -> Person:
    """Who approves each write: whoever sits at the terminal, else whoever looks into the inbox."""
    if has_terminal():
        return TerminalPerson(run.stopping)
    return InboxPerson(run.tools.db, run.item.project_id, run.item.id, Staging(run.tools.folder / FOLDER), run.stopping)


def role_findings(run: Run, writes: Pipeline, base: Sha, tree: Sha, changed: tuple[ChangedFile, ...]) -> list[Finding]:
    """The same checks over git's diff, so that every changed file is in the log: what a shell wrote, or an agent
    without hooks. Scope and secrets are judged again on the commit, by their gates; the role is judged here alone."""
    read = reader(run.tools.mirror, len(changed))
    found = writes.after_step(changes(changed, lambda path: read(base, path), lambda path: read(tree, path)))
    return [finding for finding in found if finding.gate == "role"]
