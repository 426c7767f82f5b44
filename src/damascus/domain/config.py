"""damascus.toml: every key with its default, its environment variable and its line of documentation.

Order: flag, environment, the base commit's file, default. Gates never come from the environment (Promise 8).
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from damascus.domain.errors import UsageError
from damascus.domain.scope import SETTINGS_FILE


class Section(BaseModel):
    """A table of damascus.toml: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Project(Section):
    """[project]"""

    name: str = Field("", description="Name shown to people; default: the folder's name")
    main_branch: str = Field("", description="Branch to land on; default: the first of main, master, develop")
    branch_prefix: str = Field("feat/", description="Start of every story's branch name")


class Test(Section):
    """[test]"""

    command: str = Field(
        "",
        description="The project's whole test command, run on every candidate; default: found from main's files, "
        "`none`: there is none, and every receipt says so",
    )
    timeout_seconds: float = Field(600.0, gt=0, description="Limit of one run of a Test, gate or CI command")
    patterns: list[str] = Field(
        default_factory=list, description="Further globs that are tests, beside the stack's own"
    )


class Workspace(Section):
    """[workspace]"""

    setup: str = Field("", description="Command that prepares a checkout (cached by the base's lock files)")
    setup_timeout_seconds: float = Field(1200.0, gt=0, description="Limit of the set-up command")
    copy_files: list[str] = Field(
        default_factory=list,
        alias="copy",
        description="Untracked files of your folder that each checkout gets",
    )
    env: list[str] = Field(default_factory=list, description="Names of variables passed on; values are masked in logs")


class Gates(Section):
    """[gates]"""

    commands: dict[str, str] = Field(
        default_factory=dict,
        description="Further commands that must exit 0 on the candidate: lint, types, build …",
    )
    canary: bool = Field(True, description="Lay a failing test of ours among the story's: it must be seen failing")
    mutation: str = Field(
        "bodies",
        pattern="^(off|bodies)$",
        description="bodies: each changed function must be needed by a test; off: listed as not verified",
    )
    mutation_seconds: float = Field(300.0, gt=0, description="Limit of the mutants of one candidate, all together")
    knows_tests: list[str] = Field(
        default_factory=list, description="Globs of code that may refer to a test runner and its variables"
    )


class Ci(Section):
    """[ci]"""

    jobs: dict[str, str] = Field(
        default_factory=dict,
        description="CI jobs of the local forge; default: one job `test`, the project's whole test command",
    )
    required: list[str] = Field(
        default_factory=list,
        description="Names of CI jobs that must be there, beside that every job that is there must be green; default: "
        "those of [ci.jobs], else `test`",
    )
    optional: list[str] = Field(
        default_factory=list,
        description="Names of CI jobs that may fail or be skipped; each is listed as not verified",
    )
    mirror_job: str = Field("", description="The CI job on main that must succeed before a landed story is done")
    fixes: int = Field(5, ge=0, description="How often a red CI run goes back to the agent")
    no_run_seconds: float = Field(60.0, gt=0, description="A pushed commit without a CI run for so long is asked about")
    queued_seconds: float = Field(600.0, gt=0, description="A CI job that no runner takes for so long is asked about")
    running_seconds: float = Field(
        10_800.0, gt=0, description="A CI run in which no job has ended for so long is asked about"
    )
    look_seconds: float = Field(10.0, gt=0, description="How often CI is looked at; a webhook shortens the wait")


class ReviewConfig(Section):
    """[review]"""

    approval: str = Field(
        "none",
        pattern="^(none|person)$",
        description="person: nothing lands before a person has approved it; none: what is judged green lands",
    )


class CommitConfig(Section):
    """[commit]"""

    author: str = Field(
        "",
        pattern=r"^$|^[^<>\n]+ <[^<>\s]+>$",
        description="who a story's commit is by, as `Name <mail>`; Damascus if empty",
    )
    subject: str = Field(
        "{type}: {title}",
        pattern=r"^[^\n{}]*(\{(type|title|story)\}[^\n{}]*)+$",
        description="the first line, with {type}, {title} and {story}",
    )
    summary: bool = Field(False, description="the agent's own summary stands in the body, marked as its word")
    co_author: str = Field(
        "", pattern=r"^$|^[^<>\n]+ <[^<>\s]+>$", description="a Co-authored-by trailer for every story's commit"
    )


class ForgeConfig(Section):
    """[forge]"""

    kind: str = Field("local", pattern="^(local|gitea|github)$", description="local, gitea (also Forgejo) or github")
    url: str = Field("", description="Address of the repository on the forge, as a browser shows it")
    token_env: str = Field("DAMASCUS_FORGE_TOKEN", description="Name of the variable that holds the forge's token")
    token_file: str = Field("", description="A file that holds the token, where the variable is not set")
    webhook_port: int = Field(0, ge=0, le=65535, description="Port where webhooks are received; 0: none are")
    webhook_host: str = Field("127.0.0.1", description="Address that the webhook's port is bound to")
    webhook_secret_env: str = Field("DAMASCUS_WEBHOOK_SECRET", description="Name of the variable with their secret")
    delete_branches: bool = Field(True, description="Delete a story's branch on the forge once it is on main")


class QueueConfig(Section):
    """[queue]"""

    window: int = Field(
        4, ge=1, le=64, description="Stories tested on top of each other at once, at most; fewer after failures"
    )


class RepoConfig(Section):
    """[repo]"""

    needs: list[str] = Field(
        default_factory=list, description="Names of the repositories of this project that this one depends on"
    )
    max_workers: int = Field(0, ge=0, description="Stories worked in this repository at once; 0: no bound")


class AgentConfig(Section):
    """[agent]"""

    kind: str = Field("", description="claude (the default), codex, opencode, command or scripted; `run --agent` wins")
    command: str = Field("", description="The command agent, split like shell words, no shell")
    timeout_seconds: float = Field(1200.0, gt=0, description="Limit of one agent step")
    readable: list[str] = Field(default_factory=list, description="Further paths an agent may read in the sandbox")
    refiner: bool = Field(False, description="Ask the agent, in the role spec-refiner, for what a rough story lacks")
    refiner_approval: str = Field(
        "person",
        pattern="^(person|auto)$",
        description="Who approves a refined spec: person, or auto (listed as not verified on the receipt)",
    )
    binary: str = Field("", description="The agent's program; default: found on PATH, then in an installed wheel")
    gateway: str = Field("", description="Base URL of the model gateway; default: ANTHROPIC_BASE_URL")
    ping: bool = Field(
        True, description="Ask the gateway for one token before the first agent: are address, key and model right?"
    )
    max_turns: int = Field(50, ge=50, description="Turns of one agent step; fewer than 50 end most work unfinished")


class Models(Section):
    """[models]"""

    fast: str = Field("minimax-m3", description="Model of the roles that implement and fix")
    strong: str = Field("minimax-m3", description="Model of the roles that plan, criticise and review")
    roles: dict[str, str] = Field(default_factory=dict, description="A model for one role, whatever the table says")
    prices: dict[str, list[float]] = Field(
        default_factory=dict,
        description="Per model, US dollars for a million tokens: [input, output, cached input]",
    )


class Budget(Section):
    """[budget]"""

    step_tokens: int = Field(5_000_000, ge=0, description="Tokens of one agent step; 0: no limit")
    story_tokens: int = Field(25_000_000, ge=0, description="Tokens of one story; 0: no limit")
    project_tokens: int = Field(0, ge=0, description="Tokens of the whole project; 0: no limit")
    step_usd: float = Field(0.0, ge=0, description="Dollars of one agent step, reserved before it starts; 0: no limit")
    story_usd: float = Field(0.0, ge=0, description="Dollars of one story; 0: no limit")
    project_usd: float = Field(0.0, ge=0, description="Dollars of the whole project; 0: no limit")


class Time(Section):
    """[time]"""

    warn_seconds: float = Field(900.0, gt=0, description="When a warning precedes the end of an agent step")
    extend_seconds: float = Field(300.0, gt=0, description="Extension of a step that made progress of late")
    most_seconds: float = Field(3600.0, gt=0, description="End of an agent step, whatever its progress")
    progress_seconds: float = Field(300.0, gt=0, description="How recent observed progress must be to extend a step")
    idle_seconds: float = Field(600.0, gt=0, description="An agent without a sign of life for so long is stuck")
    first_write_seconds: float = Field(900.0, gt=0, description="An agent that wrote nothing for so long is stuck")
    api_errors: int = Field(3, ge=1, description="More API errors in a row than this: the provider is unavailable")


class WritesConfig(Section):
    """[writes]"""

    gate: str = Field("policy", pattern="^(policy|person)$", description="Who approves writes: policy, or person")
    compile: bool = Field(True, description="Compile check of the stack right after each write")
    sast: bool = Field(True, description="Static security findings of each write, never blocking")


class SandboxConfig(Section):
    """[sandbox]"""

    require: bool = Field(False, description="Refuse to run where agents can't be confined; as `run --require-sandbox`")
    first_port: int = Field(20000, ge=1024, le=60000, description="Each checkout gets 10 ports from here on")


class Limits(Section):
    """[limits]"""

    slots: int = Field(2, ge=1, le=64, description="Stories that one `damascus run` works on at once")
    budget_cycles: int = Field(5, ge=1, description="Attempts before a story is blocked")
    lease_seconds: float = Field(60.0, gt=0, description="How long a lease holds without a heartbeat")
    heartbeat_seconds: float = Field(15.0, gt=0, description="How often leases are renewed")
    disk_reserve_mb: int = Field(500, ge=0, description="No slot is filled with less free disk than this")
    log_max_mb: int = Field(20, ge=1, description="Cap of one log or transcript file")
    file_max_mb: int = Field(50, ge=1, description="A story's file above this (apparent size) is refused")
    tree_max_mb: int = Field(500, ge=1, description="All that a story adds, together, above this is refused")
    load_per_core: float = Field(8.0, ge=0, description="No slot is filled under more load than this; 0: not looked at")
    keep_workspaces_hours: float = Field(72.0, ge=0, description="How long a finished story's workspace stays")


class Retry(Section):
    """[retry]"""

    call_attempts: int = Field(3, ge=1, description="Tries of one call of ours before the story waits")
    call_first_seconds: float = Field(1.0, ge=0, description="First pause between these tries (doubles)")
    call_most_seconds: float = Field(60.0, gt=0, description="Longest pause between these tries")


class Config(Section):
    """The whole file."""

    project: Project = Project()  # type: ignore[call-arg]
    test: Test = Test()  # type: ignore[call-arg]
    workspace: Workspace = Workspace()  # type: ignore[call-arg]
    gates: Gates = Gates()  # type: ignore[call-arg]
    ci: Ci = Ci()  # type: ignore[call-arg]
    review: ReviewConfig = ReviewConfig()  # type: ignore[call-arg]
    commit: CommitConfig = CommitConfig()  # type: ignore[call-arg]
    forge: ForgeConfig = ForgeConfig()  # type: ignore[call-arg]
    queue: QueueConfig = QueueConfig()  # type: ignore[call-arg]
    repo: RepoConfig = RepoConfig()  # type: ignore[call-arg]
    agent: AgentConfig = AgentConfig()  # type: ignore[call-arg]
    models: Models = Models()  # type: ignore[call-arg]
    budget: Budget = Budget()  # type: ignore[call-arg]
    time: Time = Time()  # type: ignore[call-arg]
    writes: WritesConfig = WritesConfig()  # type: ignore[call-arg]
    sandbox: SandboxConfig = SandboxConfig()  # type: ignore[call-arg]
    limits: Limits = Limits()  # type: ignore[call-arg]
    retry: Retry = Retry()  # type: ignore[call-arg]


NOT_FROM_ENVIRONMENT = {"gates", "ci", "test", "review", "commit"}
TABLES = {("models", "roles"), ("models", "prices")}
"""Keys that hold tables: no variable can say one."""


def variable(section: str, key: str) -> str | None:
    """The environment variable of a key; None for what only the base commit may say."""
    if section in NOT_FROM_ENVIRONMENT or (section, key) in TABLES:
        return None
    return f"DAMASCUS_{section}_{key}".upper()


def parse_config(text: str, environ: Mapping[str, str] | None = None, name: str = SETTINGS_FILE) -> Config:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise UsageError(f"{name} is not valid TOML: {err}. Correct it (docs/start.md).") from None
    return _validated(_overlaid(data, environ or {}), name)


def _overlaid(data: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    for section, field in Config.model_fields.items():
        table = field.annotation
        assert isinstance(table, type) and issubclass(table, Section)
        for key, info in table.model_fields.items():
            var = variable(section, info.alias or key)
            if var and environ.get(var):
                values = data.setdefault(section, {})
                if isinstance(values, dict):
                    values[info.alias or key] = _typed(environ[var], info.annotation, var)
    return data


def _typed(text: str, annotation: Any, var: str) -> Any:
    try:
        if annotation is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[text.lower()]
        if annotation in (int, float):
            return annotation(text)
    except (KeyError, ValueError):
        raise UsageError(f"{var}={text!r} is not a {annotation.__name__}. Correct or unset it.") from None
    return text.split(",") if str(annotation).startswith("list") else text


def _validated(data: dict[str, Any], name: str) -> Config:
    try:
        return Config.model_validate(data, strict=True)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UsageError(
                f"{name} has the unknown key {where!r}. Remove it or correct its name (docs/config.md)."
            ) from None
        raise UsageError(f"{name}: {where}: {first['msg'].lower()}. Correct it (docs/config.md).") from None
