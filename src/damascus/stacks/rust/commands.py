"""Lint and build of a Rust package. The compiler checks the types, so there is no command of its own for them."""

from tomllib import TOMLDecodeError, loads
from typing import Any

from damascus.stacks.stack import BaseFiles, FoundCommand

CLIPPY = "cargo clippy --all-targets -- -D warnings"
"""Without the flag it warns and exits 0: a main that is not free of warnings is red, and charges nobody."""


def commands(base: BaseFiles) -> list[FoundCommand]:
    if "Cargo.toml" not in base.listing:
        return []
    try:
        manifest = loads(base.text("Cargo.toml"))
    except (TOMLDecodeError, RecursionError):
        manifest = {}
    workspace = _table(manifest, "workspace")
    every = " --workspace" if workspace and "package" in manifest else ""
    found = [FoundCommand("build", "cargo", f"cargo build{every}")]
    linted = "clippy" in _table(manifest, "lints") or "clippy" in _table(workspace, "lints")
    if linted or {"clippy.toml", ".clippy.toml"} & set(base.listing):
        found.insert(0, FoundCommand("lint", "clippy", CLIPPY))
    return found


def _table(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
