"""Issues of a forge, for `damascus import issues`: read alone, never written. The pull request closes them.

A forge that has issues has a module with a `make`, and a line here.
"""

from collections.abc import Callable, Mapping
from importlib import import_module

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import UsageError
from damascus.domain.ports import Issues

ISSUES = {"gitea": "damascus.forges.gitea.issues", "github": "damascus.forges.github.issues"}


def make_issues(config: ForgeConfig, environ: Mapping[str, str]) -> Issues:
    if config.kind not in ISSUES:
        raise UsageError(
            f"The forge {config.kind} has no issues. Configure one that has ([forge] kind = "
            f"{' or '.join(ISSUES)}, docs/forges.md), or import files: damascus import DIR."
        )
    make: Callable[[ForgeConfig, Mapping[str, str]], Issues] = import_module(ISSUES[config.kind]).make
    return make(config, environ)
