"""`damascus new`: a spec to edit, from one sentence."""

from pathlib import Path

from damascus.domain.spec import parse_spec
from tests.cli.conftest import Cli, spec_file
from tests.yard import Yard


def test_a_sentence_becomes_a_spec_that_add_takes(cli: Cli, yard: Yard) -> None:
    made = cli("new", "slugify: keeps 'digits' #1")
    assert made.code == 0 and "specs/S-1.md: written" in made.out and "damascus add specs/S-1.md" in made.out
    text = (yard.repo / "specs/S-1.md").read_text()
    spec = parse_spec(text.encode(), "S-1.md")
    assert (spec.story, spec.title) == ("S-1", "slugify: keeps 'digits' #1")
    assert spec.scope is not None and spec.scope.patterns == ("tests/",)
    assert "pytest" in spec.test_command and "FILL IN" in text
    assert cli("add", "specs/S-1.md").code == 0


def test_what_was_left_to_say_is_warned_of(cli: Cli, yard: Yard) -> None:
    cli("new", "slugify keeps digits")
    for words in (("add", "--check"), ("add",)):
        told = " ".join(cli(*words, "specs/S-1.md").err.split())
        assert "warning: specs/S-1.md: FILL IN still stands in lines 5, 13, 18" in told
    file = yard.repo / "specs/S-2.md"
    cli("new", "trim it")
    kept = [line for line in file.read_text().splitlines() if "FILL IN" not in line]
    file.write_text("\n".join([*kept, "", "The words FILL IN: may stand in a sentence."]))
    assert "FILL IN" not in cli("add", "specs/S-2.md").err


def test_the_next_free_id_is_above_the_queue_and_the_specs(cli: Cli, yard: Yard) -> None:
    cli("add", spec_file(yard, "T-7"))
    assert "specs/T-8.md" in cli("new", "one").out
    assert "specs/T-9.md" in cli("new", "two").out


def test_nothing_is_overwritten(cli: Cli, yard: Yard) -> None:
    assert cli("new", "one", "--id", "S-5").code == 0
    before = (yard.repo / "specs/S-5.md").read_text()
    refused = cli("new", "two", "--id", "S-5")
    assert refused.code == 2 and "exists" in refused.error
    assert (yard.repo / "specs/S-5.md").read_text() == before


def test_another_file_and_a_bad_id(cli: Cli, tmp_path: Path) -> None:
    assert cli("new", "one", "--out", str(tmp_path / "there.md")).code == 0 and (tmp_path / "there.md").exists()
    assert cli("new", "one", "--id", "no good").code == 2
    assert cli("new", "  ").code == 2


def test_a_rough_one_leaves_the_rest_to_the_refiner(cli: Cli, yard: Yard) -> None:
    made = cli("new", "slugify keeps digits", "--rough")
    assert made.code == 0 and "damascus add --rough specs/S-1.md" in made.out
    spec = parse_spec((yard.repo / "specs/S-1.md").read_bytes(), "S-1.md", rough=True)
    assert spec.title == "slugify keeps digits" and spec.missing()
    assert cli("add", "--rough", "specs/S-1.md").code == 0
    assert yard.item("S-1")["rough"]
