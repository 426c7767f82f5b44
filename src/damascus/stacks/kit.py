"""The folder of programs that make a known runner report to us, and the variables that put them in the way.

They are copied once per worker into a folder that no judged command can write, under a name made from their content:
another version of Damascus beside us has another one.
"""

import hashlib
import os
import shlex
import shutil
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.stacks.runners.record import FOLDER, ROOT

SOURCES = Path(__file__).parent / "runners"
PACKAGE = Path("lib/damascus/stacks/runners")
"""Where they can import each other by the names that they have here."""
BY_PYTHON = ("go", "cargo", "rust-binary")
ENDINGS = (".py", ".cjs", ".mjs")
IN_PATH = ("go", "cargo", "node")
PYTHON = Path("python")
"""Where every Python of a command finds a `sitecustomize` of ours."""
START = "python_start.py"
SCRIPT = '#!/bin/sh\nexec {python} -I -S {run} {program} {folder} "$@"\n'
NODE = """\
#!/bin/sh
rest=$PATH:
while [ -n "$rest" ]; do
  folder=${{rest%%:*}}; rest=${{rest#*:}}
  if [ "$folder" != {folder} ] && [ -n "$folder" ] && [ -x "$folder/node" ]; then
    exec "$folder/node" --require {preload} "$@"
  fi
done
echo "node: not found" >&2
exit 127
"""
VARIABLES = (FOLDER, ROOT)
"""Ours, as a judged command sees them. Code that is no test has no business with them."""


@dataclass(frozen=True)
class Kit:
    """`folder` holds a folder for each program, so that only what a machine has is put in the way of it."""

    folder: Path

    @classmethod
    def below(cls, parent: Path) -> "Kit":
        """Made now, or by another worker before."""
        texts = {path.name: path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.suffix in ENDINGS}
        name = hashlib.sha256(repr((sorted(texts.items()), sys.executable, SCRIPT, NODE)).encode()).hexdigest()[:16]
        kit = cls(parent / name)
        if not kit.folder.exists():
            kit._make(texts)
        return kit

    def _make(self, texts: Mapping[str, bytes]) -> None:
        """Whole or not there: others may be making the same one."""
        draft = self.folder.with_name(f".{uuid.uuid4().hex}")
        (draft / PACKAGE).mkdir(parents=True)
        for name, content in texts.items():
            (draft / PACKAGE / name).write_bytes(content)
        (draft / PYTHON).mkdir()
        (draft / PYTHON / "sitecustomize.py").write_bytes(texts[START])
        for program in (*BY_PYTHON, "node"):
            script = draft / program / program
            script.parent.mkdir()
            script.write_text(self._script(program))
            script.chmod(0o755)
        try:
            draft.rename(self.folder)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)

    def _script(self, program: str) -> str:
        folder = shlex.quote(str(self.folder / program))
        if program == "node":
            return NODE.format(folder=folder, preload=shlex.quote(str(self.folder / PACKAGE / "preload.cjs")))
        python, run = shlex.quote(sys.executable), shlex.quote(str((self.folder / PACKAGE / "run").with_suffix(".py")))
        return SCRIPT.format(python=python, run=run, program=program, folder=folder)

    def switched_on(self, env: Mapping[str, str], reports: Path, tree: str) -> dict[str, str]:
        """The same environment, with runners that report into `reports` what they run in `tree`."""
        path = env.get("PATH", os.defpath)
        there = [str(self.folder / name) for name in IN_PATH if shutil.which(name, path=path)]
        options = f'{env.get("NODE_OPTIONS", "")} --require "{self.folder / PACKAGE / "preload.cjs"}"'.strip()
        python = [str(self.folder / PYTHON), env.get("PYTHONPATH", "")]
        return {
            **env,
            "PYTHONPATH": os.pathsep.join(path for path in python if path),
            "PATH": os.pathsep.join([*there, path]),
            "NODE_OPTIONS": options,
            FOLDER: str(reports),
            ROOT: tree,
        }
