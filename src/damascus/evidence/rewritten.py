"""Sources that a judged command wrote: what it tested is then not what its tree holds.

The time at which a file's entry last changed can't be set back by whoever writes it, unlike its content. So a source
that is written and restored is known too, and told apart.
"""

import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.ids import Sha
from damascus.git.mirror import Mirror
from damascus.stacks import stack_of
from damascus.system.plain_file import read_plain

SIZE_LIMIT = 5_000_000


@dataclass(frozen=True)
class SourceWatch:
    """The sources of one checkout from now on; `laid` are files of ours that are not as the tree has them."""

    mirror: Mirror
    tree: Sha
    root: Path
    laid: Collection[str]
    since: int

    @classmethod
    def begun(cls, mirror: Mirror, tree: Sha, root: Path, laid: Collection[str]) -> "SourceWatch":
        """By the file system's own clock."""
        with tempfile.NamedTemporaryFile(dir=root.parent) as mark:
            return cls(mirror, tree, root, laid, Path(mark.name).stat().st_ctime_ns)

    def told(self) -> dict[str, list[str]]:
        """Sources that are others now, or gone, and those that were written and are as before."""
        written = {path: self._same(path) for path in self._written()}
        return {
            "rewritten": [path for path, same in written.items() if not same],
            "restored": [path for path, same in written.items() if same],
        }

    def _written(self) -> Iterator[str]:
        for path, entry in self.mirror.listing(self.tree).files.items():
            if entry.mode.startswith("100") and path not in self.laid and stack_of(path) is not None:
                try:
                    changed = (self.root / path).lstat().st_ctime_ns
                except OSError:
                    yield path
                    continue
                if changed > self.since:
                    yield path

    def _same(self, path: str) -> bool:
        now = read_plain(self.root / path, SIZE_LIMIT)
        was = self.mirror.read(self.tree, path)
        return now is not None and was is not None and now.replace(b"\r\n", b"\n") == was.replace(b"\r\n", b"\n")
