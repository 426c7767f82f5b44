"""Lint, types and build of a Node project: scripts of its package.json, and tsc where TypeScript is a dependency."""

import fnmatch
import json
import re
from collections.abc import Iterator
from typing import Any

from damascus.stacks.stack import BaseFiles, FoundCommand

SCRIPTS = {
    "lint": ("lint",),
    "types": ("typecheck", "type-check", "check-types", "types"),
    "build": ("build",),
    "agent:check": ("agent:check",),
    "agent:visual": ("agent:visual",),
}
"""By kind the scripts that are one, the first that is there."""
PROVES_NOTHING = re.compile(r"--watch(?!\S)|no \w+ specified")
"""It never ends, or is what `npm init` writes."""
WORDS = re.compile(r"[^\s;&|()<>'\"=]+")
TSC = "node_modules/.bin/tsc"


def commands(base: BaseFiles) -> list[FoundCommand]:
    package = _package(base)
    scripts = _scripts(package)
    found = [
        FoundCommand(kind, "npm", f"npm run {name}")
        for kind, name in ((kind, _first(scripts, names)) for kind, names in SCRIPTS.items())
        if name
    ]
    return found + ([] if any(each.kind == "types" for each in found) else list(_compiler(base, package)))


def unfolds(command: str, base: BaseFiles) -> list[str]:
    """The scripts that it runs, those that they run, and what npm runs before and after each. What builds is left out:
    it is changed by ordinary work."""
    scripts, bodies, todo = _scripts(_package(base)), dict[str, str](), [command]
    while todo:
        called = [name for word in WORDS.findall(todo.pop()) for name in fnmatch.filter(scripts, word)]
        named = [name for each in called for name in (each, f"pre{each}", f"post{each}")]
        new = {name: scripts[name] for name in named if name in scripts and name not in bodies and "build" not in name}
        bodies |= new
        todo += new.values()
    return list(bodies.values())


def _first(scripts: dict[str, str], names: tuple[str, ...]) -> str:
    there = (name for name in names if scripts.get(name, "").strip())
    return next((name for name in there if not PROVES_NOTHING.search(scripts[name])), "")


def _compiler(base: BaseFiles, package: dict[str, Any]) -> Iterator[FoundCommand]:
    needed = [each for key in ("dependencies", "devDependencies") if isinstance(each := package.get(key), dict)]
    if "tsconfig.json" not in base.listing or not any("typescript" in each for each in needed):
        return
    # A project that only refers to others would be found without fault by looking at nothing.
    parts = " --build" if '"references"' in base.text("tsconfig.json") else ""
    yield FoundCommand("types", "tsc", f"{TSC}{parts} --noEmit")


def _package(base: BaseFiles) -> dict[str, Any]:
    try:
        found = json.loads(base.text("package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _scripts(package: dict[str, Any]) -> dict[str, str]:
    found = package.get("scripts")
    return {name: text for name, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}
