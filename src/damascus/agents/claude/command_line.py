"""How Claude Code is started: its words and its whole environment.

No prompts of its own (W9): edits in the workspace are accepted, shell and reading are allowed, whatever would need a
person's answer is denied. No settings of the repository, the user or the machine's plugins, no tools that reach out
of the sandbox or outlive the step, no traffic but to the gateway.
"""

import json
from collections.abc import Iterable
from pathlib import Path

TOOLS = ("Task", "Bash", "Edit", "NotebookEdit", "Read", "Write")
"""All others are withheld: the web, schedules, remote sessions, worktrees and skills have no place in a story."""
ALLOWED = ("Bash", "Read")
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
PLAIN = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # else a sub-agent goes on after the result, when nobody answers it
    "CLAUDE_CODE_DISABLE_CRON": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING": "1",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
}
SETTINGS = {"attribution": {"commit": "", "pr": ""}}


def arguments(program: Path, model: str, max_turns: int, more_folders: Iterable[Path] = ()) -> list[str]:
    """`more_folders` may be written beside the workspace."""
    added = [f"--add-dir={folder}" for folder in more_folders]
    return [
        str(program), "--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json",
        "--include-partial-messages", "--model", model, "--max-turns", str(max_turns),
        "--permission-mode", "acceptEdits", "--permission-prompts", "none",
        "--tools", ",".join(TOOLS), "--allowedTools", ",".join(ALLOWED),
        "--setting-sources=", "--settings", json.dumps(SETTINGS), "--strict-mcp-config",
        "--disable-slash-commands", "--no-session-persistence", *added,
    ]  # fmt: skip


def settings(url: str, key: str, config: Path, tmp: Path, *, retries: int, api_seconds: float) -> dict[str, str]:
    """The variables of Claude Code's own. `config` is new each time: nothing that an agent left there is read again."""
    return {
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_TMPDIR": str(tmp),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": key,
        "CLAUDE_CODE_MAX_RETRIES": str(retries),
        "API_TIMEOUT_MS": str(round(api_seconds * 1000)),
        **QUIET,
        **PLAIN,
    }
