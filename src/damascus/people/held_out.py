"""Held-out acceptance tests (X1): a folder that no agent sees is frozen with the spec."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.errors import UsageError

if TYPE_CHECKING:
    from damascus.people.spec_files import Ground

LIMIT = 10_000_000
NOTHING = "Nothing was queued. (docs/spec.md)"


def packed(ground: "Ground", spec_file: Path, named: str) -> bytes:
    """The folder as tar bytes that depend on its content alone."""
    folder = (spec_file.parent / named).resolve()
    if not folder.is_dir():
        raise UsageError(f"{spec_file}: the acceptance folder {named} does not exist (looked at {folder}). {NOTHING}")
    _refuse_seen(ground, spec_file, folder, named)
    files = sorted(_files(folder, spec_file, named))
    if not files:
        raise UsageError(f"{spec_file}: the acceptance folder {named} has no files. {NOTHING}")
    if sum(path.stat().st_size for _, path in files) > LIMIT:
        raise UsageError(
            f"{spec_file}: the acceptance folder {named} is larger than {LIMIT // 1_000_000} MB. {NOTHING}"
        )
    return _tar(files)


def packed_as_found(spec_file: Path, named: str) -> bytes | None:
    """The same bytes, for who checks a receipt; None where the folder is not at hand."""
    folder = (spec_file.parent / named).resolve()
    files = sorted(_files(folder, spec_file, named)) if folder.is_dir() else []
    return _tar(files) if files else None


def _refuse_seen(ground: "Ground", spec_file: Path, folder: Path, named: str) -> None:
    """What is tracked, or lies where agents work, is no secret from them."""
    if ground.worktrees and folder.is_relative_to(ground.worktrees.resolve()):
        raise UsageError(f"{spec_file}: the acceptance folder {named} is inside an agent's workspace. {NOTHING}")
    top = ground.repository.top.resolve()
    if folder == top or top.is_relative_to(folder):
        raise UsageError(f"{spec_file}: the acceptance folder {named} contains the whole repository. {NOTHING}")
    if folder.is_relative_to(top) and _tracked(ground, folder.relative_to(top).as_posix()):
        raise UsageError(
            f"{spec_file}: the acceptance folder {named} is tracked in the repository, so agents would see it. Keep it "
            f"outside, or take it out (git rm -r --cached) and add it to .gitignore. {NOTHING}"
        )


def _tracked(ground: "Ground", path: str) -> bool:
    git, main = ground.repository.git, ground.main
    on_main = git.run("ls-tree", "-r", "--name-only", f"refs/heads/{main}", "--", f"{path}/").raw
    staged = git.run("ls-files", "-z", "--", f":(literal){path}", work_tree=ground.repository.top, check=False).raw
    return bool(on_main or staged)


def _files(folder: Path, spec_file: Path, named: str) -> Iterator[tuple[str, Path]]:
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if name not in ("__pycache__", ".git")]
        for name in [*names, *(n for n in below if (Path(place) / n).is_symlink())]:
            path = Path(place) / name
            if not stat.S_ISREG(path.lstat().st_mode):
                raise UsageError(
                    f"{spec_file}: {path.relative_to(folder)} in the acceptance folder {named} is not a regular file. "
                    f"Put the file itself there. {NOTHING}"
                )
            yield path.relative_to(folder).as_posix(), path


def _tar(files: list[tuple[str, Path]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in files:
            content = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()
