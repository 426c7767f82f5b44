"""mutmut: makes the mutants of Python. Its own runner is not used: it runs in one process with the code under test."""

import shlex
import sys
from collections.abc import Collection
from pathlib import Path

from damascus.stacks.mutants.lines import MutationTool, ToolReport, Wanted
from damascus.stacks.python.line_mutants import switched, worth_it
from damascus.stacks.python.text import decoded

MAKER = Path(__file__).with_name("maker") / "mutmut_maker.py"
ENVIRONMENTS = (".venv", "venv")
ON_PATH = '"$(sed -n \'1s/^#! *//p\' "$(command -v mutmut)" 2>/dev/null)"'


def command(tracked: Collection[str]) -> str:
    """The project's own environment, where set-up made it and not the tree; then PATH; then the one we run in."""
    made = [name for name in ENVIRONMENTS if not any(path.startswith(f"{name}/") for path in tracked)]
    places = [*(f"{name}/bin/python" for name in made), ON_PATH, shlex.quote(sys.executable)]
    found = f'"$python" -I -c "import mutmut" 2>/dev/null && exec "$python" -I "$DAMASCUS_TOOL/{MAKER.name}"'
    return f'for python in {" ".join(places)}; do [ -x "$python" ] && {found}; done; exit 127'


def read(report: bytes, wanted: Wanted) -> ToolReport:
    return ToolReport.model_validate_json(report)


MUTMUT = MutationTool(
    name="mutmut",
    install="pip install mutmut==3.8.0",
    program="mutmut",
    command=command,
    read=read,
    files=(MAKER,),
    neutral=lambda source: decoded(source)[0].encode(),
    worth_it=worth_it,
    switched=switched,
)
