"""A small repository with one change on it, to be judged: what the parts about mutants measure on."""

import subprocess
from pathlib import Path

from bench.overhead import ENV
from damascus.domain.config import parse_config
from damascus.domain.ids import Sha, StoryId
from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope
from damascus.domain.spec import Requirement, Spec
from damascus.evidence.runner import CleanRunner
from damascus.git.mirror import Mirror

CONFIG = '[test]\ncommand = "none"\n'


def candidate_of(
    folder: Path, base_files: dict[str, str], changed: dict[str, str], command: str, config: str = CONFIG
) -> tuple[Candidate, CleanRunner]:
    repo = folder / "repo"
    _write(repo, base_files)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=repo, env=ENV, check=True)
    base = _commit(repo)
    _write(repo, changed)
    commit = _commit(repo)
    mirror = Mirror.open(folder / "mirror.git", str(repo))
    mirror.fetch()
    scope = Scope(("**",))
    spec = Spec(StoryId("S-1"), "a story", scope, test_command=command, requirements=(Requirement("REQ-001", "it"),))
    candidate = Candidate(
        commit=commit,
        tree=mirror.tree(commit),
        base=base,
        changed=mirror.changed(base, commit),
        spec=spec,
        scope=scope,
        config=parse_config(config),
        read=mirror.read,
        files=lambda treeish: mirror.listing(treeish).files,
        logs=folder / "logs",
        private_logs=folder / "private",
    )
    return candidate, CleanRunner(mirror, folder / "checkouts")


def _write(repo: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(content)


def _commit(repo: Path) -> Sha:
    for words in (["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=repo, env=ENV, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, env=ENV, check=True, capture_output=True, text=True)
    return Sha(done.stdout.strip())
