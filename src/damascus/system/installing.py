"""How a part that is not installed by default is had, for this very installation.

Never by the name of our distribution alone: an index may know it as somebody else's, or not at all.
"""

import shlex
import sys
from pathlib import Path

PACKAGES = {
    "claude": ("claude-agent-sdk",),
    "contracts": ("jsonschema", "openapi-spec-validator", "schemathesis"),
    "gateway": ("litellm[proxy]",),
    "visual": ("pillow",),
}
"""What each extra of pyproject.toml brings."""


def install(extra: str) -> str:
    """The command: from the tree that we run from, else the package that the extra stands for."""
    tree = Path(__file__).resolve().parents[3]
    ours = (tree / "pyproject.toml").is_file() and (tree / "src" / "damascus").is_dir()
    what = f"-e {shlex.quote(f'{tree}[{extra}]')}" if ours else shlex.join(PACKAGES[extra])
    return f"{shlex.quote(sys.executable)} -m pip install {what}"
