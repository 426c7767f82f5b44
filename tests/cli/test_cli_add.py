"""damascus add: what enters the queue, and everything that must not."""

import io
import os
import tarfile

import pytest

from tests.cli.conftest import Cli, everything, spec_file
from tests.yard import Yard, story


@pytest.mark.req("D2")
def test_add_queues_all_stories_of_a_command(yard: Yard, cli: Cli) -> None:
    ran = cli("add", spec_file(yard, "S-1"), spec_file(yard, "S-2", depends_on=["S-1"], priority=0))
    assert ran.code == 0, ran.err
    assert "S-1  Story S-1: queued, phase build" in ran.out
    assert "damascus run" in ran.out
    row = yard.item("S-2")
    assert (row["phase"], row["state"], row["priority"], row["branch"]) == ("build", "ready", 0, "feat/S-2")
    assert row["spec_path"] == "specs/S-2.md"
    assert bytes(row["spec"]) == (yard.repo / "specs/S-2.md").read_bytes()


def test_a_spec_outside_the_repository_keeps_its_whole_path(yard: Yard, cli: Cli) -> None:
    path = yard.folder / "elsewhere.md"
    path.write_text(story("S-1"))
    assert cli("add", str(path)).code == 0
    assert yard.item("S-1")["spec_path"] == str(path)


def test_a_folder_of_main_needs_no_slash(yard: Yard, cli: Cli) -> None:
    assert cli("add", spec_file(yard, "S-1", scope=["tests", "calc.py"])).code == 0
    assert yard.item("S-1")["file_scope"] == ["tests/", "calc.py"]


def test_rough_needs_only_story_and_title(yard: Yard, cli: Cli) -> None:
    yard.write({"rough.md": "---\nstory: R-1\ntitle: an idea\n---\nSomething like this.\n"})
    assert cli("add", "rough.md").code == 2
    ran = cli("add", "--rough", "rough.md")
    assert ran.code == 0, ran.err
    assert yard.item("R-1")["phase"] == "spec"


def test_a_cancelled_story_is_replaced_by_its_corrected_spec(yard: Yard, cli: Cli) -> None:
    cli("add", spec_file(yard, "S-1"))
    assert cli("cancel", "S-1").code == 0
    ran = cli("add", spec_file(yard, "S-1", title="second thoughts"))
    assert "replaced" in ran.out
    assert yard.item("S-1")["title"] == "second thoughts"


WITHOUT_COMMAND = "---\nstory: S-1\ntitle: t\nscope: [a.py]\n---\n## TDD Plan\nx\n"
BAD = {
    "no test command": (WITHOUT_COMMAND, 'has no "## Test Command". Add that heading with one fenced block'),
    "empty scope": (story("S-1").replace("scope: ['s1.py', 'tests/test_s1.py']", "scope: []"), "the scope is empty"),
    "absolute scope": (story("S-1", scope=["/etc/passwd"]), "is not relative to the repository"),
    "scope that climbs": (story("S-1", scope=["../other.py"]), "contains '.' or '..'"),
    "scope in .git": (story("S-1", scope=[".git/hooks/"]), "covers .git"),
    "scope over the settings": (story("S-1", scope=["*.toml"]), "covers damascus.toml"),
    "scope over CI": (story("S-1", scope=[".github/"]), "covers .github/"),
    "scope over the spec": (story("S-1", scope=["specs"], command="true"), "covers specs/bad.md"),
    "an id that is a path": (story("../S-1", scope=["a.py"]), "is not a story id"),
    "an id that is an option": (story("--force", scope=["a.py"]), "is not a story id"),
    "unknown dependency": (story("S-1", depends_on=["S-9"]), "depends on S-9, which is neither in the queue"),
    "itself as dependency": (story("S-1", depends_on=["S-1"]), "in a circle: S-1 → S-1"),
    "unknown key": (story("S-1", colour="red"), "unknown key 'colour'"),
    "no front matter": ("# just text\n", "has no front matter"),
    "priority out of range": (story("S-1", priority=7), "priority is 7"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_spec_is_refused_with_one_sentence_and_nothing_changes(what: str, yard: Yard, cli: Cli) -> None:
    text, sentence = BAD[what]
    yard.commit({"specs/kept.md": "kept so that specs is a folder of main\n"}, "a folder")
    yard.write({"specs/bad.md": text})
    good, before = spec_file(yard, "GOOD"), everything(yard)
    ran = cli("add", good, "specs/bad.md")
    assert ran.code == 2
    assert ran.err.startswith("error: ") and "Traceback" not in ran.err
    assert sentence in ran.error
    assert "specs/bad.md" in ran.error or "circle" in ran.error
    assert ran.out == ""
    assert everything(yard) == before


def test_a_file_that_is_not_utf8_is_refused(yard: Yard, cli: Cli) -> None:
    (yard.repo / "bad.md").write_bytes(story("S-1").encode() + b"\xff\xfe")
    before = everything(yard)
    ran = cli("add", "bad.md")
    assert (ran.code, everything(yard)) == (2, before)
    assert "bad.md is not UTF-8" in ran.error


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.md", "missing.md does not exist"),
        ("tests", "tests is a folder"),
        ("pipe.md", "pipe.md is no plain file. Name a spec file."),
        ("/dev/zero", "/dev/zero is no plain file. Name a spec file."),
    ],
)
def test_a_name_that_is_no_file_is_refused(name: str, sentence: str, yard: Yard, cli: Cli) -> None:
    os.mkfifo(yard.repo / "pipe.md")
    before = everything(yard)
    ran = cli("add", name)
    assert (ran.code, everything(yard)) == (2, before)
    assert sentence in ran.error and "Nothing was queued" in ran.error
    assert sentence in cli("add", "--check", name).error


def test_a_story_that_is_there_already_is_refused_whatever_its_case(yard: Yard, cli: Cli) -> None:
    assert cli("add", spec_file(yard, "S-1")).code == 0
    before = everything(yard)
    ran = cli("add", spec_file(yard, "s-1", scope=["x.py"]))
    assert (ran.code, everything(yard)) == (2, before)
    assert "the story S-1 is in the queue already" in ran.error


def test_two_specs_of_one_story_in_a_command_are_refused(yard: Yard, cli: Cli) -> None:
    yard.write({"a.md": story("S-1"), "b.md": story("S-1")})
    before = everything(yard)
    ran = cli("add", "a.md", "b.md")
    assert (ran.code, everything(yard)) == (2, before)
    assert "a.md and b.md both describe the story S-1" in ran.error


def test_a_circle_of_dependencies_is_refused_by_name(yard: Yard, cli: Cli) -> None:
    before = everything(yard)
    ran = cli("add", spec_file(yard, "A", depends_on=["B"]), spec_file(yard, "B", depends_on=["A"]))
    assert (ran.code, everything(yard)) == (2, before)
    assert "A → B → A" in ran.error


# ── held-out acceptance tests (X1) ────────────────────────────────────────────────────────────────────


@pytest.mark.req("X1")
def test_the_acceptance_folder_is_frozen_with_the_spec(yard: Yard, cli: Cli) -> None:
    yard.write({"specs/hidden/test_it.py": "def test_REQ_001(): pass\n", "specs/hidden/run.sh": "#!/bin/sh\n"})
    (yard.repo / "specs/hidden/run.sh").chmod(0o700)
    assert cli("add", spec_file(yard, "S-1", acceptance="hidden")).code == 0
    with tarfile.open(fileobj=io.BytesIO(bytes(yard.item("S-1")["acceptance"]))) as tar:
        members = {m.name: (m.mode, m.mtime) for m in tar}
    assert members == {"run.sh": (0o755, 0), "test_it.py": (0o644, 0)}


@pytest.mark.req("X1")
def test_an_acceptance_folder_that_agents_would_see_is_refused(yard: Yard, cli: Cli) -> None:
    yard.commit({"seen/test_it.py": "def test_REQ_001(): pass\n"}, "tracked")
    before = everything(yard)
    ran = cli("add", spec_file(yard, "S-1", acceptance="../seen"))
    assert (ran.code, everything(yard)) == (2, before)
    assert "is tracked in the repository, so agents would see it" in ran.error


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("folder", "sentence"), [("nowhere", "does not exist"), ("empty", "has no files"), ("..", "whole repository")]
)
def test_an_acceptance_folder_without_tests_is_refused(folder: str, sentence: str, yard: Yard, cli: Cli) -> None:
    (yard.repo / "specs/empty").mkdir(parents=True)
    before = everything(yard)
    ran = cli("add", spec_file(yard, "S-1", acceptance=folder))
    assert (ran.code, everything(yard)) == (2, before)
    assert sentence in ran.error


@pytest.mark.req("X1")
def test_a_link_in_the_acceptance_folder_is_refused(yard: Yard, cli: Cli) -> None:
    yard.write({"specs/hidden/test_it.py": "def test_REQ_001(): pass\n"})
    (yard.repo / "specs/hidden/link").symlink_to("/etc")
    ran = cli("add", spec_file(yard, "S-1", acceptance="hidden"))
    assert ran.code == 2
    assert "link in the acceptance folder hidden is not a regular file" in ran.error


# ── warnings, --check, unchanged files ────────────────────────────────────────────────────────────────


def test_a_scope_whose_folder_is_not_on_main_is_warned_of_and_queued(yard: Yard, cli: Cli) -> None:
    ran = cli("add", spec_file(yard, "S-1", scope=["srv/io/*.py", "calc.py", "tests/test_one.py"]))
    assert ran.code == 0 and yard.item("S-1")["phase"] == "build"
    assert "warning: specs/S-1.md: main has no folder srv/io (scope srv/io/*.py)." in ran.error
    assert ran.error.count("warning:") == 1
    assert "warning" not in cli("add", spec_file(yard, "S-2")).err


@pytest.mark.parametrize(
    ("scope", "parts", "warned"),
    [
        (["calc.py"], {}, True),
        (["calc.py", "tests/"], {}, False),
        (["calc.py", "tests/test_*.py"], {}, False),
        (["calc.py"], {"kind": "docs"}, False),
        (["lib.rs"], {}, False),
    ],
)
def test_a_feature_without_a_path_for_its_test_is_warned_of(
    scope: list[str], parts: dict[str, str], warned: bool, yard: Yard, cli: Cli
) -> None:
    ran = cli("add", spec_file(yard, "S-1", scope=scope, command="true", **parts))
    assert ran.code == 0
    assert ("no path of its scope is a test's" in ran.error) == warned


def test_check_tells_every_error_of_every_file_and_queues_nothing(yard: Yard, cli: Cli) -> None:
    yard.write(
        {
            "specs/a.md": "---\nstory: S-1\ntitle: fix: a colon\n---\n",
            "specs/b.md": story("S-2", scope=["/etc"], priority=9, depends_on=["S-9"]),
            "specs/c.md": story("S-3", acceptance="nowhere"),
            "specs/d.md": story("s-3"),
        }
    )
    before = everything(yard)
    ran = cli("add", "--check", "specs/a.md", "./specs//b.md", "specs/c.md", "specs/d.md", "specs/none.md")
    assert (ran.code, everything(yard)) == (2, before)
    wanted = [
        "specs/a.md, line 3: the front matter is not valid YAML: mapping values are not allowed here. "
        "Put it in quotes: title: \"fix: a colon\"",
        "specs/b.md: scope '/etc' is not relative",
        "specs/b.md: priority is 9",
        "specs/b.md depends on S-9",
        "specs/c.md: the acceptance folder nowhere does not exist",
        "specs/c.md and specs/d.md both describe the story s-3",
        "specs/none.md does not exist",
    ]  # fmt: skip
    assert [text for text in wanted if text not in ran.error] == []
    assert ran.err.count("error: ") == len(wanted) and "Nothing was queued" not in ran.err
    assert "5 files looked at, 7 errors. Nothing was queued." in ran.out


def test_check_of_good_files_is_0_and_queues_nothing(yard: Yard, cli: Cli) -> None:
    before = everything(yard)
    ran = cli("add", "--check", spec_file(yard, "S-1"), spec_file(yard, "S-2", depends_on=["S-1"]))
    assert (ran.code, everything(yard)) == (0, before), ran.err
    assert "2 files looked at, 0 errors" in ran.out
    circle = cli("add", "--check", spec_file(yard, "A", depends_on=["B"]), spec_file(yard, "B", depends_on=["A"]))
    assert circle.code == 2 and "A → B → A" in circle.error


def test_check_needs_no_project(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.git("config", "--remove-section", "damascus")
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    ran = cli("add", "--check", spec_file(yard, "S-1", depends_on=["S-0"]))
    assert ran.code == 0, ran.err
    assert "no queue of this repository here" in ran.out


def test_what_is_unchanged_is_skipped_and_named(yard: Yard, cli: Cli) -> None:
    first = spec_file(yard, "S-1")
    assert cli("add", first).code == 0
    again = cli("add", first, spec_file(yard, "S-2", depends_on=["S-1"]))
    assert again.code == 0, again.err
    assert "S-2  Story S-2: queued" in again.out and "1 story is unchanged and skipped: S-1" in again.out
    assert len(yard.events("S-1")) == 1
    before = everything(yard)
    only = cli("add", first)
    assert (only.code, everything(yard)) == (0, before)
    assert "unchanged and skipped: S-1" in only.out and "damascus status" in only.out


def test_an_acceptance_folder_that_changed_is_a_change(yard: Yard, cli: Cli) -> None:
    yard.write({"specs/hidden/test_it.py": "def test_REQ_001(): pass\n"})
    file = spec_file(yard, "S-1", acceptance="hidden")
    assert cli("add", file).code == 0
    assert "unchanged" in cli("add", file).out
    yard.write({"specs/hidden/test_it.py": "def test_REQ_001(): assert 1\n"})
    ran = cli("add", file)
    assert ran.code == 2 and "is in the queue already (phase build), with another spec" in ran.error


def test_a_cancelled_story_comes_back_only_if_it_is_named_alone(yard: Yard, cli: Cli) -> None:
    file = spec_file(yard, "S-1")
    assert cli("add", file).code == 0 and cli("cancel", "S-1").code == 0
    several = cli("add", file, spec_file(yard, "S-2"))
    assert several.code == 0 and "unchanged and cancelled" in several.out
    assert yard.item("S-1")["phase"] == "cancelled"
    assert "replaced" in cli("add", file).out
    assert yard.item("S-1")["phase"] == "build"


@pytest.mark.parametrize("second", ["specs/S-1.md", "./specs/S-1.md", "specs/../specs/S-1.md"])
def test_a_file_named_twice_is_refused(second: str, yard: Yard, cli: Cli) -> None:
    first, before = spec_file(yard, "S-1"), everything(yard)
    ran = cli("add", first, second)
    assert (ran.code, everything(yard)) == (2, before)
    assert "specs/S-1.md is named twice. Name it once. Nothing was queued." in ran.error


def test_ids_that_differ_in_case_only_are_refused(yard: Yard, cli: Cli) -> None:
    yard.write({"a.md": story("S-1"), "b.md": story("s-1", scope=["x.py"], command="true")})
    before = everything(yard)
    ran = cli("add", "a.md", "b.md")
    assert (ran.code, everything(yard)) == (2, before)
    assert "both describe the story" in ran.error


def test_messages_name_files_as_they_were_typed(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.commit({"specs/kept.md": "kept so that specs is a folder of main\n"}, "a folder")
    yard.write({"specs/a.md": story("S-1"), "specs/b.md": story("S-1"), "specs/c.md": story("S-3", scope=["specs"])})
    monkeypatch.chdir(yard.repo / "specs")
    assert "a.md and b.md both describe" in cli("add", "./a.md", "b.md").error
    said = cli("add", "../specs/c.md").error
    assert "../specs/c.md: scope 'specs/' covers ../specs/c.md," in said
