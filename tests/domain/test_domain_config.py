"""damascus.toml: every key has a default, an environment variable and a line; what is wrong is said by name."""

import re
import subprocess
import sys

import pytest

from damascus.domain.config import NOT_FROM_ENVIRONMENT, TABLES, Config, Section, parse_config, variable
from damascus.domain.errors import UsageError


def sections() -> dict[str, type[Section]]:
    found = {}
    for name, field in Config.model_fields.items():
        assert isinstance(field.annotation, type)
        found[name] = field.annotation
    return found


KEYS = [
    (name, info.alias or key, info) for name, table in sections().items() for key, info in table.model_fields.items()
]


def refusal(text: str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        parse_config(text, environ)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_key_has_a_default_and_a_line() -> None:
    assert parse_config("") == Config()
    assert [f"{section}.{key}" for section, key, info in KEYS if not info.description] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\nslot = 1\n", "unknown key 'limits.slot'"),
        ("[limit]\nslots = 1\n", "unknown key 'limit'"),
        ("colour = 'red'\n", "unknown key 'colour'"),
        ('[limits]\nslots = "2"\n', "limits.slots"),
        ("[limits]\nslots = 0\n", "limits.slots"),
        ("[limits]\nslots = 65\n", "limits.slots"),
        ("[limits]\nslots = true\n", "limits.slots"),
        ("[limits]\nlease_seconds = inf\n", "limits.lease_seconds"),
        ("[limits]\nlease_seconds = nan\n", "limits.lease_seconds"),
        ("[test]\ntimeout_seconds = 0\n", "test.timeout_seconds"),
        ("[workspace]\ncopy = '.env'\n", "workspace.copy"),
        ("[workspace]\ncopy_files = ['.env']\n", "unknown key 'workspace.copy_files'"),
        ("[ci]\njobs = ['test']\n", "ci.jobs"),
        ("[ci.jobs]\ntest = 1\n", "ci.jobs.test"),
        ("limits = 3\n", "limits"),
        ("[limits\n", "not valid TOML"),
        ("[agent]\nrefiner = 1\n", "agent.refiner"),
        ("[agent.roles]\ntest-critc = 'codex'\n", "agent.roles: there is no role 'test-critc'; there are spec-"),
        ("[models.roles]\nnobody = 'x'\n", "models.roles: there is no role 'nobody'; there are spec-refiner,"),
        *(
            (f"[flow]\ninputs = '{folder}'\n", f"flow.inputs: {folder!r} is no folder of the repository")
            for folder in ("/etc", "/", "", " ", ".", "..", "../../etc", "a/../b", ".git", "a/.GIT/b", "a//b", "\u200b")
        ),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_the_key(text: str, said: str) -> None:
    message = refusal(text)
    assert said in message and "damascus.toml" in message and "orrect" in message


def test_roles_and_a_folder_of_the_repository_are_taken_as_they_are() -> None:
    read = parse_config("[agent.roles]\ntest-critic = 'codex'\n[models.roles]\nfixer = 'x'\n[flow]\ninputs = 'a/b/'\n")
    assert (read.agent.roles, read.models.roles) == ({"test-critic": "codex"}, {"fixer": "x"})
    assert read.flow.inputs == "a/b/"


def test_whole_numbers_are_fine_where_seconds_are_wanted() -> None:
    assert parse_config("[limits]\nlease_seconds = 5\n").limits.lease_seconds == 5.0


def test_copy_is_the_key_and_its_variable() -> None:
    assert parse_config("[workspace]\ncopy = ['.env.test']\n").workspace.copy_files == [".env.test"]
    assert parse_config("", {"DAMASCUS_WORKSPACE_COPY": "a,b"}).workspace.copy_files == ["a", "b"]


def test_the_environment_goes_before_the_file() -> None:
    environ = {
        "DAMASCUS_LIMITS_SLOTS": "7",
        "DAMASCUS_LIMITS_LEASE_SECONDS": "1.5",
        "DAMASCUS_AGENT_REFINER": "yes",
        "DAMASCUS_AGENT_COMMAND": "claude -p",
        "DAMASCUS_PROJECT_NAME": "",
    }
    read = parse_config("[limits]\nslots = 3\n[project]\nname = 'x'\n", environ)
    assert (read.limits.slots, read.limits.lease_seconds) == (7, 1.5)
    assert (read.agent.refiner, read.agent.command, read.project.name) == (True, "claude -p", "x")


ALLOWED = {
    ("agent", "max_turns"): "60",
    ("sandbox", "first_port"): "1024",
    ("writes", "gate"): "person",
    ("agent", "refiner_approval"): "auto",
    ("forge", "kind"): "gitea",
    ("notify", "quiet"): "22:00-07:00",
    ("notify", "on"): "done,budget",
}
"""Where not every value of the type is one of the key."""


@pytest.mark.req("D5")
def test_fewer_than_fifty_turns_are_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match=r"agent\.max_turns: .*50"):
        parse_config("[agent]\nmax_turns = 20\n")


@pytest.mark.parametrize(("section", "key", "info"), KEYS, ids=[f"{s}.{k}" for s, k, _ in KEYS])
def test_every_key_has_a_variable_but_those_that_judge(section: str, key: str, info: object) -> None:
    name = variable(section, key)
    if section in NOT_FROM_ENVIRONMENT or (section, key) in TABLES:
        assert name is None
        return
    assert name == f"DAMASCUS_{section}_{key}".upper()
    table = getattr(parse_config(""), section)
    field = "copy_files" if key == "copy" else key
    text = ALLOWED.get((section, key)) or {bool: "true", int: "3", float: "2.5", str: "x"}.get(
        type(getattr(table, field)), "x,y"
    )
    changed = getattr(getattr(parse_config("", {name: text}), section), field)
    known: dict[str, object] = {
        "true": True,
        "3": 3,
        "2.5": 2.5,
        "x,y": ["x", "y"],
        "done,budget": ["done", "budget"],
        "60": 60,
        "1024": 1024,
    }
    assert changed == known.get(text, text)


@pytest.mark.req("D7")
def test_what_judges_the_work_never_comes_from_the_environment() -> None:
    assert {"gates", "ci", "test"} <= NOT_FROM_ENVIRONMENT
    environ = {
        f"DAMASCUS_{section}_{key}".upper(): "evil" for section, key, _ in KEYS if section in NOT_FROM_ENVIRONMENT
    }
    assert parse_config("[gates.commands]\nlint = 'ruff'\n", environ).gates.commands == {"lint": "ruff"}
    assert parse_config("", environ) == Config()


@pytest.mark.parametrize(
    ("name", "value"),
    [("DAMASCUS_LIMITS_SLOTS", "many"), ("DAMASCUS_AGENT_REFINER", "perhaps"), ("DAMASCUS_LIMITS_LEASE_SECONDS", "1s")],
)
def test_a_variable_of_the_wrong_type_is_named(name: str, value: str) -> None:
    assert re.search(rf"{name}='{value}' is not a (int|bool|float)", refusal("", {name: value}))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("DAMASCUS_LIMITS_SLOTS", "0", "greater than or equal to 1"),
        ("DAMASCUS_AGENT_MAX_TURNS", "20", "greater than or equal to 50"),
        ("DAMASCUS_FORGE_KIND", "gitlab", "should match pattern"),
        ("DAMASCUS_LIMITS_LEASE_SECONDS", "inf", "finite number"),
    ],
)
def test_a_variable_that_says_too_much_is_named(name: str, value: str, told: str) -> None:
    """The file is not to blame, so it is not the file that is named."""
    said = refusal("", {name: value})
    assert said.startswith(f"{name}='{value}'") and told in said and "damascus.toml" not in said


def test_variables_are_read_from_what_is_given_and_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAMASCUS_LIMITS_SLOTS", "7")
    assert (
        parse_config("", {}).limits.slots == parse_config("", {"DAMASCUS_LIMITS_LEASE_SECONDS": "9"}).limits.slots == 2
    )
    assert parse_config("", {"damascus_limits_slots": "5", "SLOTS": "6", "slots": "7"}).limits.slots == 2
    assert parse_config("", {"DAMASCUS_LIMITS_SLOTS": ""}).limits.slots == 2


def test_a_variable_holds_against_the_file_and_only_its_own_key() -> None:
    text = "[limits]\nslots = 3\nbudget_cycles = 4\n"
    limits = parse_config(text, {"DAMASCUS_LIMITS_SLOTS": "5", "DAMASCUS_MODELS_ROLES": "x"}).limits
    assert (limits.slots, limits.budget_cycles) == (5, 4)


def test_pydantic_settings_is_loaded_only_where_a_variable_is_set() -> None:
    """It takes as long as pydantic itself."""
    program = (
        "import sys; from damascus.domain.config import parse_config; parse_config('[limits]\\nslots = 3\\n', "
        "{'DAMASCUS_HOME': '/x', 'DAMASCUS_GATES_COMMANDS': 'x'}); print('pydantic_settings' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
