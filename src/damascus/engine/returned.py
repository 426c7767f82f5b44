"""What a worker returns for a story (W12), computed from git and the forge. Nothing here is what the agent said."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from damascus.domain.ids import Sha
from damascus.domain.ports import ChangedFile, CiRun
from damascus.evidence.reading import tests_in
from damascus.git.mirror import Mirror
from damascus.stacks import is_test


class Returned(BaseModel):
    """Files by what became of them, tests as `path::name`, the last CI run, and one sentence."""

    files_created: list[str] = Field(default_factory=list)
    files_modified: list[str] = Field(default_factory=list)
    files_deleted: list[str] = Field(default_factory=list)
    tests_added: list[str] = Field(default_factory=list)
    ci: CiRun | None = None
    summary: str = ""


def returned(mirror: Mirror, base: Sha, head: Sha, ci: CiRun | None, patterns: Sequence[str] = ()) -> Returned:
    """The difference between two commits in words. `ci` is what the forge said of `head`, if it said anything."""
    changed = mirror.changed(base, head)
    found = Returned(
        files_created=[file.path for file in changed if file.status == "A"],
        files_modified=[file.path for file in changed if file.status in ("M", "T")],
        files_deleted=[file.path for file in changed if file.status == "D"],
        tests_added=[name for file in changed for name in _tests_added(mirror, base, head, file, patterns)],
        ci=ci if ci is not None and ci.sha == head else None,
    )
    return found.model_copy(update={"summary": _summary(found)})


def _tests_added(mirror: Mirror, base: Sha, head: Sha, file: ChangedFile, patterns: Sequence[str]) -> list[str]:
    if file.status == "D" or not is_test(file.path, patterns):
        return []
    before, after = (tests_in(mirror.read(commit, file.path) or b"", file.path).tests for commit in (base, head))
    return [f"{file.path}::{name}" for name in after if name not in before]


def _summary(found: Returned) -> str:
    counts = [
        (len(found.files_created), "created"),
        (len(found.files_modified), "changed"),
        (len(found.files_deleted), "deleted"),
    ]
    files = ", ".join(f"{n} {word}" for n, word in counts if n) or "none"
    tests = f"{len(found.tests_added)} {'test' if len(found.tests_added) == 1 else 'tests'}"
    if found.ci is None:
        ci = "no CI run of this commit"
    else:
        green = sum(job.state == "success" for job in found.ci.jobs)
        ci = f"CI {found.ci.run_id}: {green} of {len(found.ci.jobs)} jobs green"
    return f"files: {files}; {tests} added; {ci}"
