"""Does a set-up command need root rights? A fact, never read out of what it prints: it called sudo, and was refused.

A `sudo` of ours stands first in PATH. It asks the machine's own, without a prompt, whether it would run anything; if so
it hands over. If not (in the sandbox it never would), or where there is none, it leaves a mark and fails as sudo does.
"""

import os
import shlex
import shutil
from pathlib import Path

NAMES = ("sudo", "doas")
SCRIPT = """#!/bin/sh
real={real}
if [ -n "$real" ] && "$real" -n true >/dev/null 2>&1; then exec "$real" "$@"; fi
: > {mark}
echo "{name}: root rights are not given here (damascus)" >&2
exit 1
"""


class RootAsked:
    """Beside the set-up that it watches. `folder` is seen at the same path inside of its sandbox."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.mark = folder / "root", folder / "root-asked"

    def lay(self, env: dict[str, str]) -> dict[str, str]:
        """The environment with our programs first in PATH; what an earlier run left is forgotten."""
        path = env.get("PATH", os.defpath)
        self.programs.mkdir(parents=True, exist_ok=True)
        self.mark.unlink(missing_ok=True)
        for name in NAMES:
            real = shlex.quote(shutil.which(name, path=path) or "")
            file = self.programs / name
            file.write_text(SCRIPT.format(real=real, mark=shlex.quote(str(self.mark)), name=name))
            file.chmod(0o755)
        return {**env, "PATH": f"{self.programs}{os.pathsep}{path}"}

    def refused(self) -> bool:
        return self.mark.exists()
