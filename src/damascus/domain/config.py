"""damascus.toml: every key with its default, its environment variable and its line of documentation.

Order: flag, environment, the base commit's file, default. Gates never come from the environment (Promise 8).
"""

import tomllib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from damascus.domain.config_notify import NotifyConfig
from damascus.domain.config_section import Section
from damascus.domain.config_values import ByRole, FolderOnMain
from damascus.domain.errors import UsageError
from damascus.domain.scope import SETTINGS_FILE

SkippableStep = Literal[
    "load_context", "clarify", "author_tests", "critique_tests", "critique_code", "mutate", "fix", "docs", "self_review"
]
"""All of the flow but what makes a commit of it: branch, implement, commit."""


class ProjectConfig(Section):
    """[project]"""

    name: str = Field("", description="Name shown to people; default: the folder's name")
    main_branch: str = Field("", description="Branch to land on; default: the first of main, master, develop")
    branch_prefix: str = Field("feat/", description="Start of every story's branch name")


class TestConfig(Section):
    """[test]"""

    command: str = Field(
        "",
        description="The project's whole test command, run on every candidate; default: found from main's files, "
        "`none`: there is none, and every receipt says so",
    )
    timeout_seconds: float = Field(600.0, gt=0, description="Time limit of one run of a test, gate or CI command")
    patterns: list[str] = Field(default_factory=list, description="More globs that name tests, besides the stack's own")


class WorkspaceConfig(Section):
    """[workspace]"""

    setup: str = Field("", description="Command that prepares a checkout (cached by the base's lock files)")
    setup_timeout_seconds: float = Field(1200.0, gt=0, description="Time limit of the set-up command")
    copy_files: list[str] = Field(
        default_factory=list,
        alias="copy",
        description="Untracked files of your folder that are copied into each checkout",
    )
    env: list[str] = Field(
        default_factory=list, description="Names of the variables that are passed on; their values are masked in logs"
    )


class CoverageConfig(Section):
    """[gates.coverage]"""

    changed: float = Field(
        70.0,
        ge=0,
        le=100,
        description="Per cent of a story's changed lines that its Test Command must run; 0: not asked",
    )
    project: float = Field(
        70.0,
        ge=0,
        le=100,
        description="Per cent of all lines that the project's tests must run, once main reaches it; before that the "
        "gap may not grow; 0: not asked",
    )
    required: bool = Field(False, description="Refuse what can't be measured, instead of listing it as not verified")

    @property
    def asked(self) -> bool:
        return self.changed > 0 or self.project > 0


class Gates(Section):
    """[gates]"""

    commands: dict[str, str] = Field(
        default_factory=dict,
        description="Commands that must exit 0 on the candidate: lint, types, build …; those that are not named are "
        "found from main's files, `none`: there is none, and every receipt says so",
    )
    canary: bool = Field(True, description="Put a failing test of ours among the story's: it must be seen to fail")
    mutation: str = Field(
        "bodies",
        pattern="^(off|bodies|full)$",
        description="bodies: each changed function must be needed by a test; full: and each mutant of a changed line "
        "be noticed; off: listed as not verified",
    )
    mutation_seconds: float = Field(300.0, gt=0, description="Time limit for all mutants of one candidate together")
    coverage: CoverageConfig = Field(
        default_factory=CoverageConfig,  # type: ignore[arg-type]
        description="The table [gates.coverage], below: which lines the tests must run",
    )
    knows_tests: list[str] = Field(
        default_factory=list, description="Globs of code that may refer to a test runner and its variables"
    )


class ContractsConfig(Section):
    """[contracts]"""

    openapi: list[str] = Field(default_factory=list, description="Globs of OpenAPI descriptions, YAML or JSON")
    schemas: list[str] = Field(default_factory=list, description="Globs of JSON Schemas, JSON or YAML")
    zod: list[str] = Field(
        default_factory=list, description="Globs of modules of a Node project that export Zod schemas"
    )
    samples: list[str] = Field(
        default_factory=list,
        description="Globs of samples that must conform, `{name}` being a schema's name: `samples/{name}/*.json`",
    )
    bad_samples: list[str] = Field(
        default_factory=list, description="Globs of samples that must not conform, written in the same way"
    )
    serve: str = Field(
        "", description="Command that serves the API on DAMASCUS_PORT of the loopback: it is asked for conformance"
    )
    code: list[str] = Field(
        default_factory=list, description="Globs of the code behind the API: a change there is asked of `serve` as well"
    )
    examples: int = Field(20, ge=1, le=10_000, description="Requests made up for each operation of `serve`, at most")
    seconds: float = Field(300.0, gt=0, description="Limit of `serve` and of all that is asked of it")
    stable: list[str] = Field(
        default_factory=list,
        description="Contract files (globs) or operations (`GET /v1/users`, `/v1/`) that no story may break, whatever "
        "its spec permits",
    )

    @property
    def paths(self) -> list[str]:
        """Every glob of a file that is a contract itself."""
        return [*self.openapi, *self.schemas, *self.zod]


class VisualConfig(Section):
    """[visual]"""

    pages: list[str] = Field(
        default_factory=list,
        max_length=100,
        description="Pages whose pictures are compared with the accepted ones: a path of `serve` (`/cart?empty=1`), "
        "without it a file of the repository",
    )
    serve: str = Field(
        "",
        description="Command that serves the pages on DAMASCUS_PORT of the loopback; default: the files are served as "
        "they are",
    )
    paths: list[str] = Field(
        default_factory=list,
        description="Globs of what a story must touch for its pages to be looked at; default: anything but tests and "
        "documentation",
    )
    viewport: str = Field(
        "1280x800", pattern=r"^[1-9]\d{1,3}x[1-9]\d{1,3}$", description="Size of the browser's window"
    )
    threshold: float = Field(
        0.0, ge=0, lt=1, description="Share of a picture's pixels that may differ: 0.001 is one in a thousand"
    )
    tolerance: int = Field(
        0, ge=0, le=254, description="How far a pixel's red, green or blue may be off before the pixel differs"
    )
    masks: list[str] = Field(
        default_factory=list,
        description="What is not compared: rectangles (`x,y,width,height`) or CSS selectors (`.clock`)",
    )
    seconds: float = Field(300.0, gt=0, description="Limit of `serve` and of all pictures together")
    browser: str = Field("", description="The Chromium to use; default: found on the PATH")
    required: bool = Field(
        False, description="Pass nothing where no picture can be taken, instead of listing it as not verified"
    )

    @property
    def size(self) -> tuple[int, int]:
        width, _, height = self.viewport.partition("x")
        return int(width), int(height)


class CiConfig(Section):
    """[ci]"""

    jobs: dict[str, str] = Field(
        default_factory=dict,
        description="CI jobs of the local forge; default: one job `test`, the project's whole test command",
    )
    required: list[str] = Field(
        default_factory=list,
        description="CI jobs that must be there, by name; whatever job is there must be green anyway; default: "
        "those of [ci.jobs], else `test`",
    )
    optional: list[str] = Field(
        default_factory=list,
        description="Names of CI jobs that may fail or be skipped; each is listed as not verified",
    )
    mirror_job: str = Field("", description="The CI job on main that must succeed before a landed story is done")
    fixes: int = Field(5, ge=0, description="How often a red CI run goes back to the agent")
    no_run_seconds: float = Field(
        60.0, gt=0, description="You are asked about a pushed commit that has had no CI run for this long"
    )
    queued_seconds: float = Field(
        600.0, gt=0, description="You are asked about a CI job that no runner has taken for this long"
    )
    running_seconds: float = Field(
        10_800.0, gt=0, description="You are asked about a CI run in which no job has ended for this long"
    )
    look_seconds: float = Field(10.0, gt=0, description="How often CI is looked at; a webhook shortens the wait")


class ReviewConfig(Section):
    """[review]"""

    approval: str = Field(
        "none",
        pattern="^(none|person)$",
        description="person: nothing lands before a person has approved it; none: what is judged green lands",
    )
    critic: bool = Field(
        False,
        description="In profile direct, too, a code-critic and a security-reviewer read each pull request before it "
        "lands; else they are listed as not verified",
    )


class FlowConfig(Section):
    """[flow]"""

    profile: str = Field(
        "direct",
        pattern="^(direct|full)$",
        description="direct: one agent step, then every gate; full: the twelve steps of docs/flow.md; a spec's `flow:` "
        "wins",
    )
    skip: list[SkippableStep] = Field(
        default_factory=list, description="Steps of `full` that are left out, by name; each is listed as not verified"
    )
    inputs: FolderOnMain = Field(
        "swarm/runs", description="Folder on main with `<story>/signal/` and `<story>/plan/`, where there are any"
    )


class TasksConfig(Section):
    """[tasks]"""

    graph: str = Field("TASK-GRAPH.md", min_length=1, description="The task graph, relative to the repository")
    checkpoint_every: int = Field(
        4, ge=3, le=5, description="A full checkpoint is written after so many tasks that became DONE"
    )
    commit: str = Field(
        "never",
        pattern="^(never|checkpoint)$",
        description="checkpoint: the builder's files are landed with each full checkpoint; never: `damascus tasks "
        "commit` does it",
    )
    on_stale: str = Field(
        "task",
        pattern="^(task|halt)$",
        description="task: a STALE task halts itself, its dependents and who shares its files; halt: everything",
    )
    blocked_in_a_row: int = Field(
        5, ge=1, description="So many attempts that ended blocked, over all tasks and in a row, halt the builder"
    )


class SecretsConfig(Section):
    """[secrets]"""

    required: list[str] = Field(
        default_factory=list,
        description="Names of variables without which no task is begun; each is also in [workspace] env where a "
        "command needs it",
    )


class PatternsConfig(Section):
    """[patterns]"""

    index: str = Field("PATTERN_INDEX.md", min_length=1, description="The pattern library's index on main")
    required: list[str] = Field(
        default_factory=lambda: ["auth", "database", "payment"],
        description="Domains whose tasks reach no agent before the library was searched",
    )


class CommitConfig(Section):
    """[commit]"""

    author: str = Field(
        "",
        pattern=r"^$|^[^<>\n]+ <[^<>\s]+>$",
        description="Author of a story's commit, as `Name <mail>`; default: Damascus",
    )
    subject: str = Field(
        "{type}: {title}",
        pattern=r"^[^\n{}]*(\{(type|title|story)\}[^\n{}]*)+$",
        description="First line of the commit message, with {type}, {title} and {story}",
    )
    summary: bool = Field(False, description="Put the agent's own summary into the message's body, marked as its word")
    co_author: str = Field(
        "", pattern=r"^$|^[^<>\n]+ <[^<>\s]+>$", description="Co-authored-by trailer of every story's commit"
    )


class ForgeConfig(Section):
    """[forge]"""

    kind: str = Field("local", pattern="^(local|gitea|github)$", description="local, gitea (also Forgejo) or github")
    url: str = Field("", description="Address of the repository on the forge, as a browser shows it")
    token_env: str = Field("DAMASCUS_FORGE_TOKEN", description="Name of the variable that holds the forge's token")
    token_file: str = Field("", description="A file that holds the token, where the variable is not set")
    webhook_port: int = Field(0, ge=0, le=65535, description="Port where webhooks are received; 0: none are")
    webhook_host: str = Field("127.0.0.1", description="Address that the webhook's port is bound to")
    webhook_secret_env: str = Field(
        "DAMASCUS_WEBHOOK_SECRET", description="Name of the variable that holds the webhooks' secret"
    )
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
    max_workers: int = Field(0, ge=0, description="Stories worked on in this repository at once; 0: no limit")


class AgentConfig(Section):
    """[agent]"""

    kind: str = Field("", description="claude (the default), codex, opencode, command or scripted; `run --agent` wins")
    command: str = Field("", description="The command agent, split like shell words, no shell")
    roles: ByRole = Field(
        default_factory=dict,
        description='Another agent for single roles: `test-critic = "codex"`, so that it is no kin of the author',
    )
    timeout_seconds: float = Field(1200.0, gt=0, description="Time limit of one agent step")
    readable: list[str] = Field(default_factory=list, description="More paths that an agent may read in the sandbox")
    refiner: bool = Field(False, description="Ask the agent, in the role spec-refiner, for what a rough story lacks")
    refiner_approval: str = Field(
        "person",
        pattern="^(person|auto)$",
        description="Who approves a refined spec: person, or auto (listed as not verified on the receipt)",
    )
    binary: str = Field("", description="The agent's program; default: found on PATH, then in an installed wheel")
    gateway: str = Field("", description="Base URL of the model gateway; default: ANTHROPIC_BASE_URL")
    ping: bool = Field(
        True, description="Ask the gateway for one token before the first agent, to check address, key and model"
    )
    max_turns: int = Field(
        50, ge=50, description="Most turns of one agent step; with fewer than 50, most work ends unfinished"
    )

    def kind_of(self, role: str) -> str:
        """Which agent plays it, where `run` is told nothing else."""
        return self.roles.get(role) or self.kind or ("command" if self.command else "claude")


class Models(Section):
    """[models]"""

    fast: str = Field("minimax-m3", description="Model of the roles that implement and fix")
    strong: str = Field("minimax-m3", description="Model of the roles that plan, criticise and review")
    roles: ByRole = Field(default_factory=dict, description="Model of single roles, whatever the table says")
    prices: dict[str, list[float]] = Field(
        default_factory=dict,
        description="Per model, US dollars for a million tokens: [input, output, cached input]",
    )


class Budget(Section):
    """[budget]"""

    step_tokens: int = Field(5_000_000, ge=0, description="Most tokens of one agent step; 0: no limit")
    story_tokens: int = Field(25_000_000, ge=0, description="Most tokens of one story; 0: no limit")
    project_tokens: int = Field(0, ge=0, description="Most tokens of the whole project; 0: no limit")
    step_usd: float = Field(
        0.0, ge=0, description="Most dollars of one agent step, reserved before it starts; 0: no limit"
    )
    story_usd: float = Field(0.0, ge=0, description="Most dollars of one story; 0: no limit")
    project_usd: float = Field(0.0, ge=0, description="Most dollars of the whole project; 0: no limit")
    run_tokens: int = Field(
        15_000_000, ge=0, description="A run that has used so many tokens ends its loops (docs/flow.md); 0: no limit"
    )
    run_usd: float = Field(0.0, ge=0, description="A run that has cost so many dollars ends its loops; 0: no limit")
    run_turns: int = Field(1000, ge=0, description="A run whose agents took so many turns ends its loops; 0: no limit")
    run_seconds: float = Field(
        14_400.0, ge=0, description="A run whose agents worked so long ends its loops; 0: no limit"
    )


class Time(Section):
    """[time]"""

    warn_seconds: float = Field(900.0, gt=0, description="When an agent is warned that its step will end")
    extend_seconds: float = Field(
        300.0, gt=0, description="How long a step is extended that has made progress recently"
    )
    most_seconds: float = Field(3600.0, gt=0, description="When an agent step ends, whatever its progress")
    progress_seconds: float = Field(300.0, gt=0, description="How recent the progress must be for an extension")
    idle_seconds: float = Field(600.0, gt=0, description="An agent that shows no sign of life for this long is stuck")
    first_write_seconds: float = Field(
        900.0, gt=0, description="An agent that has written nothing for this long is stuck"
    )
    api_errors: int = Field(3, ge=1, description="More API errors in a row than this: the provider is unavailable")


class WritesConfig(Section):
    """[writes]"""

    gate: str = Field("policy", pattern="^(policy|person)$", description="Who approves writes: policy, or person")
    compile: bool = Field(True, description="Run the stack's compile check right after each write")
    sast: bool = Field(True, description="Look for security problems in each write; never blocks")


class SandboxConfig(Section):
    """[sandbox]"""

    require: bool = Field(False, description="Refuse to run where agents can't be confined; as `run --require-sandbox`")
    first_port: int = Field(20000, ge=1024, le=60000, description="Each checkout gets 10 ports, counted from this one")


class LimitsConfig(Section):
    """[limits]"""

    slots: int = Field(2, ge=1, le=64, description="Stories that one `damascus run` works on at once")
    budget_cycles: int = Field(5, ge=1, description="Attempts before a story is blocked")
    lease_seconds: float = Field(60.0, gt=0, description="How long a lease holds without a heartbeat")
    heartbeat_seconds: float = Field(15.0, gt=0, description="How often leases are renewed")
    disk_reserve_mb: int = Field(500, ge=0, description="No slot is filled when less disk than this is free")
    log_max_mb: int = Field(20, ge=1, description="Cap of one log or transcript file")
    file_max_mb: int = Field(
        50, ge=1, description="A file of a story that is larger than this (apparent size) is refused"
    )
    tree_max_mb: int = Field(500, ge=1, description="A story that adds more than this in all is refused")
    load_per_core: float = Field(
        8.0, ge=0, description="No slot is filled when the load is higher than this; 0: load is ignored"
    )
    keep_workspaces_hours: float = Field(72.0, ge=0, description="How long a finished story's workspace is kept")


class RetentionConfig(Section):
    """[retention]"""

    evidence_days: int = Field(30, ge=0, description="Passes of judged runs that are kept for a re-run; 0: for ever")
    artifacts_days: int = Field(
        30, ge=0, description="Run folders and homes of done and cancelled stories, set-ups not used; 0: for ever"
    )
    logs_days: int = Field(30, ge=0, description="Log files of workers that are gone; 0: for ever")
    events_days: int = Field(
        0, ge=0, description="Events that tell how a done or cancelled story moved; 0: for ever, as all others are"
    )


class Retry(Section):
    """[retry]"""

    call_attempts: int = Field(3, ge=1, description="How often one of our calls is tried before the story waits")
    call_first_seconds: float = Field(1.0, ge=0, description="First pause between these tries (doubles)")
    call_most_seconds: float = Field(60.0, gt=0, description="Longest pause between these tries")


class Config(Section):
    """The whole file."""

    project: ProjectConfig = ProjectConfig()  # type: ignore[call-arg]
    test: TestConfig = TestConfig()  # type: ignore[call-arg]
    workspace: WorkspaceConfig = WorkspaceConfig()  # type: ignore[call-arg]
    gates: Gates = Gates()  # type: ignore[call-arg]
    contracts: ContractsConfig = ContractsConfig()  # type: ignore[call-arg]
    visual: VisualConfig = VisualConfig()  # type: ignore[call-arg]
    ci: CiConfig = CiConfig()  # type: ignore[call-arg]
    review: ReviewConfig = ReviewConfig()  # type: ignore[call-arg]
    flow: FlowConfig = FlowConfig()  # type: ignore[call-arg]
    tasks: TasksConfig = TasksConfig()  # type: ignore[call-arg]
    secrets: SecretsConfig = SecretsConfig()
    patterns: PatternsConfig = PatternsConfig()  # type: ignore[call-arg]
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
    limits: LimitsConfig = LimitsConfig()  # type: ignore[call-arg]
    retention: RetentionConfig = RetentionConfig()  # type: ignore[call-arg]
    notify: NotifyConfig = NotifyConfig()  # type: ignore[call-arg]
    retry: Retry = Retry()  # type: ignore[call-arg]


NOT_FROM_ENVIRONMENT = {"gates", "contracts", "visual", "ci", "test", "review", "flow", "commit"} | {
    "tasks",
    "secrets",
    "patterns",
}
TABLES = {("agent", "roles"), ("models", "roles"), ("models", "prices")}
"""Keys that hold tables: no variable can say one."""


def variable(section: str, key: str) -> str | None:
    """The environment variable of a key; None for what only the base commit may say."""
    if section.partition(".")[0] in NOT_FROM_ENVIRONMENT or (section, key) in TABLES:
        return None
    return f"DAMASCUS_{section}_{key}".upper()


def parse_config(text: str, environ: Mapping[str, str] | None = None, name: str = SETTINGS_FILE) -> Config:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise UsageError(f"{name} is not valid TOML: {err}. Correct it (docs/config.md).") from None
    return _validated(_overlaid(data, environ or {}), name)


def _overlaid(data: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    for section, field in Config.model_fields.items():
        table = field.annotation
        assert isinstance(table, type) and issubclass(table, Section)
        keys = [info.alias or key for key, info in table.model_fields.items()]
        variables = {key: var for key in keys if (var := variable(section, key)) and environ.get(var)}
        values = data.setdefault(section, {}) if variables else None
        if isinstance(values, dict):
            values |= _typed(table, {key: environ[var] for key, var in variables.items()}, variables)
    return data


def _typed(table: type[Section], given: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, Any]:
    from damascus.domain.config_variables import typed  # slow to load, and few set a variable

    return dict(typed(table, given, variables))


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
        why = first["ctx"]["error"] if first["type"] == "value_error" else first["msg"].lower()
        raise UsageError(f"{name}: {where}: {why}. Correct it (docs/config.md).") from None
