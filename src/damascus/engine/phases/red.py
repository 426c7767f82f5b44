"""Red: the agent's commit before anything else is done with it. Its new tests must fail without its code."""

from pathlib import Path

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.engine import judging
from damascus.engine.judging import Judged
from damascus.engine.phases.implement import Made
from damascus.engine.reading import reader
from damascus.engine.run import Run
from damascus.engine.sending import passed_on


def prove_red(run: Run, spec: Spec, made: Made) -> Judged:
    """Scope, secrets, weakened tests, and the proof that the new tests fail without the code (D7)."""
    return run.local("red", Judged, lambda: judging.judge(run, run.tools.gates_before, candidate(run, spec, made)))


def candidate(run: Run, spec: Spec, made: Made) -> Candidate:
    assert made.commit is not None and made.tree is not None
    return candidate_of(run, spec, (Sha(made.commit), Sha(made.tree), Sha(made.base)), None)


def candidate_of(run: Run, spec: Spec, shas: tuple[Sha, Sha, Sha], red: Judged | None) -> Candidate:
    commit, tree, base = shas
    config = run.tools.read_config(base)
    logs: Path = run.folder
    logs.mkdir(parents=True, exist_ok=True)
    changed = run.tools.mirror.changed(base, commit)
    return Candidate(
        commit=commit,
        tree=tree,
        base=base,
        changed=changed,
        spec=spec,
        scope=Scope(run.item.file_scope),
        config=config,
        read=reader(run.tools.mirror, len(changed)),
        files=lambda treeish: run.tools.mirror.listing(treeish).files,
        logs=logs,
        private_logs=run.tools.folder / "held-out" / run.item.story_id / f"run-{run.item.run_no}",
        env=passed_on(config.workspace.env),
        acceptance=run.item.acceptance,
        red=red.of("red") if red else None,
    )
