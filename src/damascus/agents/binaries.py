"""Where an agent's program is: named by the person, on PATH, or inside a wheel that only carries it.

The wheel's package is never imported: it is found by its metadata, and only its binary is used.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from damascus.domain.errors import DamascusError, UsageError
from damascus.system.installing import install

VERSION_LIMIT = 20.0


def find_claude(configured: str, environ: Mapping[str, str], start_folder: Path | None = None) -> Path:
    """Claude Code's program."""
    if configured:
        return _named(configured, environ, start_folder or Path.cwd())
    found = shutil.which("claude", path=environ.get("PATH", os.defpath))
    bundled = Path(found) if found else in_wheel("claude_agent_sdk", "_bundled/claude")
    if bundled is None:
        raise DamascusError(
            f"Claude Code is not installed. Install it with `{install('claude')}`, put `claude` on PATH, "
            "or choose another agent with --agent."
        )
    return bundled.absolute()


def find_codex(configured: str, environ: Mapping[str, str], start_folder: Path | None = None) -> Path:
    """Codex's program."""
    return _on_path("codex", "npm install -g @openai/codex", configured, environ, start_folder)


def find_opencode(configured: str, environ: Mapping[str, str], start_folder: Path | None = None) -> Path:
    """opencode's program."""
    return _on_path("opencode", "npm install -g opencode-ai", configured, environ, start_folder)


def _on_path(name: str, install: str, configured: str, environ: Mapping[str, str], start_folder: Path | None) -> Path:
    if configured:
        return _named(configured, environ, start_folder or Path.cwd())
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    if found is None:
        raise DamascusError(
            f"{name} is not installed. Install it with `{install}`, name its program in [agent] binary, "
            "or choose another agent with --agent."
        )
    return Path(found).absolute()


def in_wheel(package: str, path: str) -> Path | None:
    """A program inside an installed package that is not imported."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        program = Path(folder) / path
        if program.is_file() and os.access(program, os.X_OK):
            return program
    return None


def _named(configured: str, environ: Mapping[str, str], start_folder: Path) -> Path:
    """A path is found from where damascus was started: what lies in a workspace is the agent's to change."""
    if "/" not in configured:
        found = shutil.which(configured, path=environ.get("PATH", os.defpath))
    else:
        program = start_folder.absolute() / Path(configured).expanduser()
        found = str(program) if program.is_file() and os.access(program, os.X_OK) else None
    if found is None:
        raise UsageError(f"[agent] binary {configured!r} is no program that can be run. Correct it, or leave it empty.")
    return Path(found).absolute()


def gone(program: Path) -> str:
    """One sentence where a program that was found is no longer there, or may not be run; "" else."""
    if program.is_file() and os.access(program, os.X_OK):
        return ""
    what = "not executable" if program.is_file() else "not there"
    return f"the agent's program {program} is {what}. Install it, or correct [agent] binary."


@lru_cache(maxsize=16)
def version_of(program: Path) -> str:
    """What `--version` prints, asked once per process; "" when it does not say."""
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "TERM": "dumb"}
    try:
        done = subprocess.run(
            [program, "--version"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=VERSION_LIMIT, check=False, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().splitlines()[0][:100] if done.returncode == 0 and done.stdout.strip() else ""
