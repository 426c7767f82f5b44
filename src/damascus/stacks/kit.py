"""The folder of programs that make a known runner report to us, and the variables that put them in the way.

They are copied once per worker into a folder that no judged command can write, under a name made from their content:
another version of Damascus beside us has another one.
"""

import hashlib
import os
import py_compile
import shlex
import shutil
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.stacks import REGISTRY
from damascus.stacks.runners.record import FOLDER, LINES, ROOT

SHARED = Path(__file__).parent / "runners"
PACKAGE = Path("lib/damascus/stacks/runners")
"""Where they can import each other, and what they share, by the names that they have there."""
PYTHON = Path("python")
"""Where every Python of a command finds a `sitecustomize` of ours."""
SCRIPT = '#!/bin/sh\nexec {python} -I -S {run} {module} {folder} "$@"\n'
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
VARIABLES = (FOLDER, ROOT, LINES)
"""Ours, as a judged command sees them. Code that is no test has no business with them."""


@dataclass(frozen=True)
class Kit:
    """`folder` holds a folder for each program, so that only what a machine has is put in the way of it."""

    folder: Path

    @classmethod
    def below(cls, parent: Path) -> "Kit":
        """Made now, or by another worker before."""
        texts = {path.name: path.read_bytes() for path in _files()}
        made = (sorted(texts.items()), _programs(), sys.executable, SCRIPT, NODE)
        name = hashlib.sha256(repr(made).encode()).hexdigest()[:16]
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
        for start in _loaded("by_python"):
            (draft / PYTHON / "sitecustomize.py").write_bytes(texts[start])
        self._compile(draft)
        for program, script in self._scripts().items():
            place = draft / program / program
            place.parent.mkdir()
            place.write_text(script)
            place.chmod(0o755)
        try:
            draft.rename(self.folder)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)

    def _compile(self, draft: Path) -> None:
        """For a Python like ours: judged ones can't write here, and would compile the same in every run. By no date:
        nobody changes these files."""
        for path in draft.rglob("*.py"):
            lies = str(self.folder / path.relative_to(draft))
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(path), dfile=lies, doraise=True, invalidation_mode=mode)

    def _scripts(self) -> dict[str, str]:
        """By the program that each stands before."""
        made = {program: self._script(program, module) for program, module in _programs().items()}
        for preload in _loaded("by_node"):
            folder, loaded = self.folder / "node", self.folder / PACKAGE / preload
            made["node"] = NODE.format(folder=shlex.quote(str(folder)), preload=shlex.quote(str(loaded)))
        return made

    def _script(self, program: str, module: str) -> str:
        python, run = shlex.quote(sys.executable), shlex.quote(str((self.folder / PACKAGE / "run").with_suffix(".py")))
        return SCRIPT.format(python=python, run=run, module=module, folder=shlex.quote(str(self.folder / program)))

    def switched_on(self, env: Mapping[str, str], reports: Path, tree: str) -> dict[str, str]:
        """The same environment, with runners that report into `reports` what they run in `tree`."""
        path = env.get("PATH", os.defpath)
        there = [str(self.folder / name) for name in _in_path() if shutil.which(name, path=path)]
        required = [f'--require "{self.folder / PACKAGE / preload}"' for preload in _loaded("by_node")]
        options = " ".join([env.get("NODE_OPTIONS", ""), *required]).strip()
        python = [str(self.folder / PYTHON), env.get("PYTHONPATH", "")]
        return {
            **env,
            "PYTHONPATH": os.pathsep.join(path for path in python if path),
            "PATH": os.pathsep.join([*there, path]),
            "NODE_OPTIONS": options,
            FOLDER: str(reports),
            ROOT: tree,
        }


def _files() -> list[Path]:
    own = [path for stack in REGISTRY.values() for path in stack.reporting.files]
    return [*sorted(SHARED.glob("*.py")), *own]


def _programs() -> dict[str, str]:
    """Modules that are started as programs, by the program's name."""
    every = [stack.reporting for stack in REGISTRY.values()]
    return {name: module for each in every for name, module in (*each.programs.items(), *each.beside.items())}


def _in_path() -> list[str]:
    own = [name for stack in REGISTRY.values() for name in stack.reporting.programs]
    return [*own, *(["node"] if _loaded("by_node") else [])]


def _loaded(by: str) -> list[str]:
    return [name for stack in REGISTRY.values() if (name := getattr(stack.reporting, by))]
