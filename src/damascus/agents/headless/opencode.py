"""opencode as an agent: `opencode run --format json`, its own permissions all granted, inside our sandbox.

It speaks chat completions. Its configuration is written by us. Of a workspace with settings of its own it would run the
plugins within its own process, whatever we tell it, so it is not started there.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from damascus.agents import AgentSetup
from damascus.agents.binaries import find_opencode
from damascus.agents.headless.agent import HeadlessAgent
from damascus.agents.headless.session import MOST_WORDS, Event, EventReader, one_line
from damascus.agents.model_agent import Model
from damascus.agents.surroundings import Surroundings
from damascus.domain.ports import Denial
from damascus.domain.signs import Observation, Sign

PROVIDER = "damascus"
SETTINGS = (".opencode", "opencode.json", "opencode.jsonc")
WITHHELD = ("webfetch", "websearch", "codesearch", "question", "skill")
"""The web and people have no place in a story."""
WRITING = frozenset({"write", "edit", "patch", "apply_patch", "multiedit"})
SANDBOXED = re.compile(r"\b(EACCES|EPERM|EROFS|PermissionDenied)\b|FileSystem\.")
XDG = ("CONFIG", "DATA", "STATE", "CACHE")
INVALID, UNAVAILABLE = "invalid", "unavailable tool"
NOTHING_TO_FETCH = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
"""It would fetch this package at each start, and wait for it; named in a lock file it counts as there."""
QUIET = (
    "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS", "OPENCODE_DISABLE_LSP_DOWNLOAD", "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_PROJECT_CONFIG", "OPENCODE_DISABLE_SHARE", "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
    "OPENCODE_PURE",
)  # fmt: skip


class OpencodeAgent(HeadlessAgent):
    """Its tools: bash, read, write, edit, glob, grep, task."""

    name = "opencode"
    api = "chat/completions"

    def configured(self, model: Model, around: Surroundings, workspace: Path) -> Mapping[str, str]:
        folder = around.config / "config/opencode"
        (folder / "node_modules").mkdir(parents=True)
        for name, content in (("opencode.json", config(model)), ("package-lock.json", NOTHING_TO_FETCH)):
            (folder / name).write_text(json.dumps(content, indent=2), encoding="utf-8")
        folders = {
            f"XDG_{kind}_HOME": str(around.config / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        return {**folders, **dict.fromkeys(QUIET, "1")}

    def words(self, model: Model) -> list[str]:
        return ["run", "--format", "json", "--pure", "--title", "damascus", "--model", f"{PROVIDER}/{model.name}"]

    def refusal(self, workspace: Path) -> str:
        found = [name for name in SETTINGS if os.path.lexists(workspace / name)]
        if not found:
            return ""
        return (
            f"opencode would run what {' and '.join(found)} in the repository says, unchecked. "
            "Take it out of the repository, or choose another agent with --agent."
        )

    def reader(self, workspace: Path) -> EventReader:
        return OpencodeReader(workspace)


def make(setup: AgentSetup) -> OpencodeAgent:
    program, bridge = find_opencode(setup.binary, setup.environ, setup.start_folder), setup.gateway(OpencodeAgent.name)
    return OpencodeAgent(program, bridge, level=setup.level, start_folder=setup.start_folder, homes=setup.homes)


def config(model: Model) -> dict[str, object]:
    """A title of our own in the command saves a call for one."""
    served = {
        "npm": "@ai-sdk/openai-compatible",
        "name": PROVIDER,
        "options": {"baseURL": model.url, "apiKey": model.key, "timeout": round(model.patience.api_seconds * 1000)},
        "models": {model.name: {"name": model.name, "tool_call": True}},
    }
    return {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "lsp": False,
        "formatter": False,
        "enabled_providers": [PROVIDER],
        "model": f"{PROVIDER}/{model.name}",
        "small_model": f"{PROVIDER}/{model.name}",
        "provider": {PROVIDER: served},
        "permission": {"*": "allow", **dict.fromkeys(WITHHELD, "deny")},
    }


class OpencodeReader(EventReader):
    """A step is a call of the model; its last one ends with another reason than tool calls."""

    def take(self, event: Event) -> list[Observation]:
        match event:
            case {"type": "text", "part": {"text": str(text)}}:
                self.text = text
            case {"type": "step_start"}:
                self.finished = False
            case {"type": "step_finish", "part": {"reason": str(reason)}}:
                self.finished = reason == "stop"
            case {"type": "tool_use", "part": {"tool": str(tool), "state": dict(state)}}:
                return self._tool(tool, state)
            case {"type": "error"}:
                self.finished, self.error = False, _message(event)
        return []

    def _tool(self, tool: str, state: Event) -> list[Observation]:
        given, failed = _table(state.get("input")), state.get("status") == "error"
        error, tried = str(state.get("error", "")), _tried(given)
        if tool == INVALID and UNAVAILABLE in str(given.get("error", "")):
            return self.denied(Denial(tool=str(given.get("tool", "")), error=str(given["error"])[:MOST_WORDS]))
        if failed and tool in WRITING and SANDBOXED.search(error) and self.outside(tried):
            return self.denied(Denial(tool=tool, error=error[:MOST_WORDS], tried=tried))
        signs: list[Observation] = [(Sign.ACCEPTED, {"tool": tool})]
        if tool in WRITING and not failed:
            signs.append((Sign.WRITE, {"tool": tool, "path": tried}))
        return signs

    def told(self, event: Event) -> Iterator[str]:
        match event:
            case {"type": "text", "part": {"text": str(text)}}:
                yield text
            case {"type": "tool_use", "part": {"tool": str(tool), "state": dict(state)}}:
                yield f"→ {tool} {one_line(_tried(_table(state.get('input'))))}".rstrip()
                mark, what = ("✗", "error") if state.get("status") == "error" else ("←", "output")
                yield f"{mark} {one_line(str(state.get(what, '')))}".rstrip()
            case {"type": "error"}:
                yield f"! {_message(event)}"
            case {"type": "step_finish", "part": {"reason": "stop"}}:
                yield "= completed"


def _tried(given: Event) -> str:
    names = ("filePath", "command", "pattern", "path", "description")
    return next((str(given[name])[:MOST_WORDS] for name in names if isinstance(given.get(name), str)), "")


def _message(event: Event) -> str:
    error = _table(event.get("error"))
    return str(_table(error.get("data")).get("message") or error.get("name") or event.get("error"))


def _table(value: object) -> Event:
    return value if isinstance(value, dict) else {}
