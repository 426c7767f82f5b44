"""The error boundary: every mistake is one clear sentence with its exit code, never a traceback."""

import errno
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer

from damascus.cli import tasks, verbs
from damascus.cli.main import app
from damascus.cli.say import error_text
from damascus.domain.visible import UNSEEN
from tests import databases
from tests.cli import states
from tests.cli.conftest import Cli, everything, spec_file
from tests.yard import Yard, story

HEAVY = ("psycopg", "pydantic", "rich", "yaml", "asyncio", "structlog")


def script(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The installed command, as a shell runs it."""
    program = Path(sys.executable).parent / "damascus"
    return subprocess.run([str(program), *words], cwd=cwd, env=env or dict(os.environ), capture_output=True, text=True)


def test_the_installed_command_answers(tmp_path: Path) -> None:
    assert script("--version", cwd=tmp_path).stdout.startswith("damascus 0.")
    told = script("--help", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    for verb in ("init", "add", "run", "status", "why", "inbox", "rescue", "doctor", "db"):
        assert f"\n  {verb} " in told.stdout


def test_help_imports_nothing_heavy() -> None:
    """The budget of --help is a quarter of a second: import discipline is what keeps it."""
    code = f"import damascus.cli.main, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("verb", [name for name, verb in verbs.VERBS.items() if verb.function])
def test_every_verb_has_help_with_an_example(verb: str, command: Cli) -> None:
    ran = command(verb, "--help")
    assert ran.code == 0
    assert f"Example:  damascus {verb}" in ran.out


@pytest.mark.parametrize("verb", [name for name, verb in verbs.VERBS.items() if not verb.function])
def test_no_line_of_a_family_is_cut(verb: str, command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in command(verb, "--help").out.partition("Commands:")[2]


TABLES = {"damascus": verbs.VERBS, "tasks": tasks.VERBS}


@pytest.mark.parametrize("name", TABLES)
def test_the_list_of_verbs_says_what_each_verb_says(name: str) -> None:
    """--help reads a table and imports no verb: the table is true, of the root and of a family with one of its own."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("damascus", [], resilient_parsing=True)
    group = root if name == "damascus" else root.get_command(context, name)
    made = {each: group.get_command(context, each) for each in group.list_commands(context)}
    assert {each: one.get_short_help_str(200) for each, one in made.items()} == {
        each: verb.short for each, verb in TABLES[name].items()
    }
    for each, verb in TABLES[name].items():
        module = import_module(f"damascus.cli.{verb.module}")
        assert callable(getattr(module, verb.function)) if verb.function else _verbs_of(module.app), each


def _verbs_of(family: typer.Typer) -> object:
    return family.registered_commands or getattr(family.info.cls, "verbs", None)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["tasks", "--help"]])
def test_listing_the_verbs_imports_none_of_them(words: list[str]) -> None:
    code = (
        f"import sys; from damascus.cli.main import main; main({words!r}); "
        "print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('damascus.')}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr.strip() == "['cli', 'domain', 'telling']"


def test_completion_stays_on(tmp_path: Path) -> None:
    env = {**os.environ, "_DAMASCUS_COMPLETE": "complete_bash", "COMP_WORDS": "damascus res", "COMP_CWORD": "1"}
    assert "rescue" in script(cwd=tmp_path, env=env).stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("frob",), "No such command 'frob'"),
        (("add",), "Missing argument 'SPEC…'"),
        (("status", "--frob"), "No such option"),
        (("answer", "x", "1"), "which question, and what answer?"),
        (("-C", "/no/such/folder", "status"), "No such file or directory"),
    ],
)
def test_wrong_words_exit_2_and_name_the_help(words: tuple[str, ...], sentence: str, command: Cli) -> None:
    ran = command(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ") and sentence.lower() in ran.error.lower()


def test_a_bug_exits_3_and_saves_its_traceback(command: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken() -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("damascus.cli.status.open_app", broken)
    ran = command("status")
    assert ran.code == 3
    assert "this is a bug in Damascus: ZeroDivisionError: on purpose" in ran.error
    assert "Traceback" not in ran.err
    saved = next((tmp_path / "home/logs").iterdir())
    assert saved.name in ran.error.replace(" ", "")
    assert "ZeroDivisionError: on purpose" in saved.read_text()
    assert "Traceback" in command("--debug", "status").err


NOT_TEXT = os.fsdecode(b"\xff\xfe")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("answer", "{n}", NOT_TEXT), "is not UTF-8"),
        (("retry", "S-1", "--with", NOT_TEXT), "is not UTF-8"),
        (("hold", NOT_TEXT, "why"), "is not UTF-8"),
        (("why", NOT_TEXT), "is not UTF-8"),
        (("answer", "9" * 5000, "1"), "which question, and what answer?"),
        (("events", f"--limit={'9' * 30}"), f"{'9' * 30} is too large"),
    ],
    ids=range(6),
)
def test_what_no_row_can_hold_is_refused_in_one_sentence(
    words: tuple[str, ...], sentence: str, yard: Yard, cli: Cli
) -> None:
    yard.add(story("S-1"))
    number, before = states.asks(yard, states.claim(yard)[0], "Which one?"), everything(yard)
    ran = cli(*(word.format(n=number) for word in words))
    assert (ran.code, ran.out) == (2, "") and sentence in ran.error
    assert everything(yard) == before


@pytest.mark.parametrize(("file", "told"), [("/full/key", " of /full/key"), (None, "")])
def test_a_full_disk_is_no_bug(file: str | None, told: str, command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file)

    monkeypatch.setattr("damascus.cli.status.open_app", full)
    ran = command("status")
    assert (ran.code, ran.error) == (1, f"error: no space left on the disk{told}. Make room, then try again.")


def test_a_bug_that_can_not_be_kept_at_home_is_kept_elsewhere(
    command: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("on purpose")

    (tmp_path / "home").write_text("no folder can be made here")
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("damascus.cli.status.open_app", broken)
    assert command("status").code == 3
    assert [file.name[:4] for file in (tmp_path / "elsewhere").iterdir()] == ["bug-"]


def test_ctrl_c_exits_130(command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("damascus.cli.status.open_app", interrupted)
    assert command("status").code == 130


def test_a_reader_that_goes_away_is_no_error(yard: Yard, cli: Cli) -> None:
    for n in range(40):
        yard.add(f"---\nstory: S-{n}\ntitle: {'long ' * 200}\n---\n", rough=True)
    program = Path(sys.executable).parent / "damascus"
    line = f"{program} status --json | head -c 10; echo; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", line], cwd=yard.repo, env=yard.environ, capture_output=True, text=True)
    assert ran.stdout.endswith("\n0\n")
    assert ran.stderr == ""


def test_errors_are_wrapped_and_keep_the_lines_of_an_example() -> None:
    text = error_text("specs/S-30.md has no command. " + "word " * 20 + "\n       ```sh\n       make\n       ```", 60)
    first, *rest = text.splitlines()
    assert first.startswith("error: specs/S-30.md has no command.")
    assert all(line.startswith("       ") and len(line) <= 60 for line in rest)
    assert rest[-3:] == ["       ```sh", "       make", "       ```"]


def test_foreign_text_never_steers_the_terminal() -> None:
    assert error_text("a\x1b[31mb\x07c\x1b]0;title\x07d", 60) == "error: abcd"
    assert error_text("a\u202eb\u2066c\u200bd\U000e0041", 60) == "error: abcd"


TURNED = "safe \u202e\u2066dn\u200e\u061c a\u200b\U000e0041\ufeff"


@pytest.mark.req("D15")
def test_nothing_that_an_agent_says_turns_a_line_round(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1", title=TURNED))
    [item] = states.claim(yard)
    number = states.asks(yard, item, f"Which {TURNED}?", f"the {TURNED}", "retry")
    for words in (("inbox",), ("show", "S-1"), ("why", "S-1"), ("status",), ("events",)):
        told, json = cli(*words), cli(*words, "--json")
        assert (told.code, json.code) == (0, 0)
        assert UNSEEN.search(told.out + json.out) is None, words
    assert cli("inbox", "--json").json["issues"][0]["options"][0] == f"the {TURNED}"
    assert UNSEEN.search(cli("answer", str(number), "1", TURNED).out) is None


# ── places where nothing can work ─────────────────────────────────────────────────────────────────────

VERBS = (("init", "--yes"), ("status",), ("add", "x.md"), ("why", "S-1"), ("inbox",))


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_not_a_repository(
    words: tuple[str, ...], command: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "home"))
    ran = command(*words)
    assert ran.code == 1
    assert "is not in a git repository. Go to one, or make one: git init" in ran.error
    assert not (tmp_path / "home").exists()


def test_a_repository_with_no_commits(
    command: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "empty"], check=True)
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", database_url)
    ran = command("init", "--yes")
    assert ran.code == 1
    assert "has no commits yet. Make the first one" in ran.error
    assert [path.name for path in (tmp_path / "empty").iterdir()] == [".git"]


def test_a_repository_with_no_main_branch(cli: Cli, yard: Yard) -> None:
    yard.git("branch", "-m", "main", "trunk")
    before = everything(yard)
    for words in (("init", "--yes"), ("status",)):
        ran = cli(*words)
        assert ran.code == 1
        assert "has no branch main or master or develop to land on. Create it" in ran.error
    assert everything(yard) == before


def test_a_folder_that_is_no_project_yet(cli: Cli, yard: Yard) -> None:
    yard.git("config", "--unset", "damascus.project")
    ran = cli("status")
    assert ran.code == 2
    assert "is not a Damascus project yet. Set it up: damascus init" in ran.error


def test_an_unreachable_database(cli: Cli, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    ran = cli("status")
    assert ran.code == 1
    assert "the database at 127.0.0.1 database none can't be reached" in ran.error
    assert "unset it to use the embedded one" in ran.error


def test_the_embedded_database_has_no_address_to_correct(command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise psycopg.OperationalError("the server closed the connection")

    monkeypatch.delenv("DAMASCUS_DATABASE_URL", raising=False)
    monkeypatch.setattr("damascus.cli.status.open_app", away)
    ran = command("status")
    assert ran.code == 1 and "closed the connection. Look at it: damascus db status" in ran.error


def test_a_database_address_that_is_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", "not an address")
    ran = cli("status")
    assert ran.code == 1
    assert "DAMASCUS_DATABASE_URL can't be used" in ran.error


def test_a_database_of_a_newer_schema(cli: Cli, yard: Yard) -> None:
    yard.query("INSERT INTO schema_migrations (version, name, sha256) VALUES (999, 'x', 'x') RETURNING version")
    before = everything(yard)
    for words in (("status",), ("add", spec_file(yard, "S-1"))):
        ran = cli(*words)
        assert ran.code == 1
        assert "the database has schema 999, newer than this Damascus" in ran.error
    assert everything(yard) == before


def test_an_empty_database_is_migrated_by_the_first_command(
    yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with databases.empty_database() as url:
        monkeypatch.setenv("DAMASCUS_DATABASE_URL", url)
        yard.git("config", "--unset", "damascus.queue")
        assert cli("init", "--yes").code == 0
        assert cli("status").code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("colour = 1\n", "has the unknown key 'colour'"),
        ("[limits]\nslots = 'two'\n", "limits.slots"),
        ("[limits\n", "is not valid TOML"),
        ("[agent.roles]\ntest-critc = 'codex'\n", "there is no role 'test-critc'"),
        ("[flow]\ninputs = '../../etc'\n", "is no folder of the repository"),
    ],
)
def test_a_config_that_does_not_validate_stops_every_command(text: str, sentence: str, yard: Yard, cli: Cli) -> None:
    before = everything(yard)
    good = spec_file(yard, "S-1")
    yard.write({"damascus.toml": text})
    for words in (("status",), ("add", good), ("doctor",), ("init", "--yes")):
        ran = cli(*words)
        assert ran.code in (1, 2)
        assert sentence in " ".join((ran.err + ran.out).split())
    assert everything(yard) == before


def test_a_config_that_differs_from_mains_is_named_in_one_line(yard: Yard, cli: Cli) -> None:
    yard.write({"damascus.toml": "[limits]\nslots = 7\n"})
    ran = cli("status", "--json")
    assert ran.code == 0
    assert ran.err == "note: damascus.toml in your folder differs from main's; main's holds until you commit yours.\n"
    assert ran.json["items"] == []


OF_A_STORY = ("show", "why", "logs", "events", "receipt", "retry", "cancel", "rescue list", "rescue restore")


@pytest.mark.parametrize("verb", OF_A_STORY)
def test_an_unknown_story_names_the_command_that_lists_them(verb: str, yard: Yard, cli: Cli) -> None:
    before = everything(yard)
    ran = cli(*verb.split(), "X")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no story 'X' in this project. See them all: damascus status --all" in ran.error
    assert everything(yard) == before


def test_dash_c_works_in_that_folder(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("-C", str(yard.repo / "tests"), "status").code == 0
