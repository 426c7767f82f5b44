"""OpenAI's Codex as an agent: `codex exec --json`, its own sandbox and approvals off, inside ours.

It speaks the Responses API only. Its configuration is written by us, and the workspace's own is not trusted.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from damascus.agents import AgentSetup
from damascus.agents.binaries import find_codex
from damascus.agents.headless.agent import HeadlessAgent
from damascus.agents.headless.session import MOST_WORDS, Event, EventReader, one_line
from damascus.agents.model_agent import Model
from damascus.agents.surroundings import Surroundings
from damascus.domain.ports import Denial
from damascus.domain.signs import Observation, Sign

KEY = "DAMASCUS_MODEL_KEY"
OFF = ("apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "multi_agent", "plugins")
"""What has no place in a story, or leads out of the sandbox."""
NOT_WRITTEN = "the patch fits but could not be written"
"""A patch that does not fit is no file_change at all."""


class CodexAgent(HeadlessAgent):
    """Its tools: a shell and apply_patch."""

    name = "codex"
    api = "responses"

    def configured(self, model: Model, around: Surroundings, workspace: Path) -> Mapping[str, str]:
        (around.config / "config.toml").write_text(config(model, workspace), encoding="utf-8")
        return {"CODEX_HOME": str(around.config), KEY: model.key}

    def words(self, model: Model) -> list[str]:
        return [
            "exec", "--json", "--color", "never", "--ephemeral", "--ignore-rules", "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox", "-",
        ]  # fmt: skip

    def reader(self, workspace: Path) -> EventReader:
        return CodexReader(workspace)


def make(setup: AgentSetup) -> CodexAgent:
    program, bridge = find_codex(setup.binary, setup.environ, setup.start_folder), setup.gateway(CodexAgent.name)
    return CodexAgent(program, bridge, level=setup.level, start_folder=setup.start_folder, homes=setup.homes)


def config(model: Model, workspace: Path) -> str:
    """config.toml; JSON's strings are TOML's, too. Without approvals it would trust any project, and run what the
    project's own configuration says."""
    name, url = (json.dumps(each, ensure_ascii=False) for each in (model.name, model.url))
    features = "\n".join(f"{each} = false" for each in OFF)
    folders = dict.fromkeys((str(workspace), str(workspace.resolve())))
    projects = "\n".join(f'{json.dumps(each)} = {{ trust_level = "untrusted" }}' for each in folders)
    return f"""\
model = {name}
model_provider = "damascus"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
allow_login_shell = false
project_doc_max_bytes = 0
check_for_update_on_startup = false

[model_providers.damascus]
name = "damascus"
base_url = {url}
env_key = "{KEY}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = {model.patience.retries}
stream_idle_timeout_ms = {round(model.patience.api_seconds * 1000)}
supports_websockets = false

[analytics]
enabled = false

[feedback]
enabled = false

[history]
persistence = "none"

[features]
{features}

[projects]
{projects}
"""


class CodexReader(EventReader):
    """Items begin and complete; a turn is its word for a whole run."""

    def take(self, event: Event) -> list[Observation]:
        match event:
            case {"type": "turn.completed"}:
                self.finished = True
            case {"type": "turn.failed", "error": {"message": message}} | {"type": "error", "message": message}:
                self.error = str(message)
            case {"type": "item.completed", "item": dict(item)}:
                return self._item(item)
        return []

    def _item(self, item: Event) -> list[Observation]:
        match item:
            case {"type": "agent_message", "text": str(text)}:
                self.text = text
            case {"type": str(tool), "status": "declined"}:
                return self.denied(Denial(tool=tool, error="declined", tried=_tried(item)))
            case {"type": "file_change", "status": "failed"} if any(map(self.outside, _paths(item))):
                return self.denied(Denial(tool="file_change", error=NOT_WRITTEN, tried=_tried(item)))
            case {"type": "file_change", "status": "completed"}:
                return [
                    (Sign.ACCEPTED, {"tool": "file_change"}),
                    (Sign.WRITE, {"tool": "file_change", "path": _tried(item)}),
                ]
            case {"type": "command_execution" | "mcp_tool_call" | "file_change" as tool}:
                return [(Sign.ACCEPTED, {"tool": tool})]
        return []

    def told(self, event: Event) -> Iterator[str]:
        match event:
            case {"type": "item.started", "item": {"type": str(kind)} as item} if _tried(item):
                yield f"→ {kind} {one_line(_tried(item))}"
            case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                yield text
            case {"type": "item.completed", "item": {"type": "error", "message": str(message)}}:
                yield f"! {message}"
            case {"type": "item.completed", "item": {"status": str(status)} as item}:
                mark = "←" if status == "completed" else "✗"
                yield f"{mark} {one_line(str(item.get('aggregated_output', '')) or status)}"
            case {"type": "error", "message": str(message)}:
                yield f"! {message}"
            case {"type": "turn.completed"}:
                yield "= completed"


def _paths(item: Event) -> list[str]:
    changes = item.get("changes")
    found = changes if isinstance(changes, list) else []
    return [str(each.get("path", "")) for each in found if isinstance(each, dict)]


def _tried(item: Event) -> str:
    """What an item is about: a command, the files of a patch."""
    return (" ".join(_paths(item)) or str(item.get("command") or item.get("tool") or ""))[:MOST_WORDS]
