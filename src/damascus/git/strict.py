"""What a story adds, looked at as strictly as git can: a repository that others fetch must not carry what they refuse.

`git fsck --strict` reads a whole repository. The story's own objects are packed and checked by the same code while they
are unpacked again, into a folder that is thrown away.
"""

import re
import tempfile
from pathlib import Path

from damascus.domain.ids import Sha
from damascus.git.commands import Git
from damascus.git.trees import REGULAR
from damascus.system.scratch import scratch_folder

PLAIN = re.compile(r"(?:[A-Za-z0-9_+=@%,-][A-Za-z0-9._+=@%, -]*(?:/|\Z))+")
FAULT = re.compile(r"^(?:error|fatal): (.+)$", re.MULTILINE)


def needs_look(path: str, mode: str) -> bool:
    """A regular file of a plain name is nothing that git could object to: it sorts and names the trees itself."""
    return mode not in REGULAR or PLAIN.fullmatch(path) is None


def faults(git: Git, base: Sha, commit: Sha) -> list[str]:
    """What git's strict check says of the objects that `commit` has and `base` has not; nothing if they are sound."""
    pack = git.run("pack-objects", "--revs", "--stdout", "--quiet", data=f"{commit}\n^{base}\n".encode()).raw
    with tempfile.TemporaryDirectory(prefix="damascus-strict-", dir=scratch_folder()) as scratch:
        there = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git.git_dir.absolute() / "objects"),
        }
        aside = Git(git.git_dir, {**git.environment, **there})
        (Path(scratch) / "pack").mkdir()
        done = aside.run("index-pack", "--strict", "--stdin", data=pack, check=False)
    if done.code == 0:
        return []
    return list(dict.fromkeys(FAULT.findall(done.stderr)))[:5] or [f"git index-pack exited {done.code}"]
