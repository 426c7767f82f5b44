"""What set-up made is laid beside a candidate's files, never mixed into packages, and a killed set-up loses nothing."""

from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.git.in_place import set_up_in
from damascus.git.made import MadeBySetup, entries, first_reference, keep_only, made_in
from damascus.git.workspaces import aside_of, put_back


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def made(folder: Path, *roots: str) -> MadeBySetup:
    return MadeBySetup(folder, folder, roots)


@pytest.mark.req("D7")
def test_a_candidate_can_not_put_files_among_the_packages(tmp_path: Path) -> None:
    template, checkout = tmp_path / "made", tmp_path / "checkout"
    write(template, venv__tool="main's", deps__a="main's", deps__b="main's", lock="main's")
    (template / "venv/pyvenv.cfg").touch()
    write(checkout, deps__a="the candidate's", lock="the candidate's")
    made(template, "deps", "lock", "venv").lay(checkout)
    assert [(checkout / name).read_text() for name in ("deps/a", "deps/b", "lock", "venv/tool")] == [
        "the candidate's", "main's", "the candidate's", "main's",
    ]  # fmt: skip
    other = tmp_path / "other"
    write(other, venv__tool="the candidate's")
    with pytest.raises(DamascusError, match="the candidate has files at venv"):
        made(template, "venv").lay(other)


@pytest.mark.req("D7")
def test_caches_beside_sources_are_left_out_and_no_source_is_kept(tmp_path: Path) -> None:
    write(tmp_path, src__a="source")
    before = entries(tmp_path)
    for name in ("src/__pycache__", "venv/__pycache__"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "y").touch()
    write(tmp_path, **{"src__new": "made", "target__a": "built", "target__CACHEDIR.TAG": "", "old.pyc": "stale"})
    roots = made_in(tmp_path, before)
    assert roots == ("src/new", "venv")
    keep_only(tmp_path, roots)
    assert entries(tmp_path) == {"src", "src/new", "venv", "venv/__pycache__", "venv/__pycache__/y"}


@pytest.mark.req("D7")
def test_what_names_its_place_is_found(tmp_path: Path) -> None:
    write(tmp_path, plain="nothing", deps__inside="nothing")
    (tmp_path / "deps/link").symlink_to("../plain")
    assert first_reference(tmp_path, ["plain", "deps"]) == ""
    (tmp_path / "deps/inside").write_text(f"\0binary{tmp_path}/src\0")
    assert first_reference(tmp_path, ["plain", "deps"]) == "deps/inside"
    for target in (str(tmp_path / "plain"), "../../elsewhere"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(target)
        assert first_reference(tmp_path, ["link"]) == "link"


@pytest.mark.req("D7", "T1")
@pytest.mark.parametrize("fails", [False, True])
def test_set_up_in_place_sees_the_base_and_loses_no_file_of_the_story(tmp_path: Path, fails: bool) -> None:
    checkout, seen = tmp_path / "checkout", list[set[str]]()
    write(checkout, code="the story's", new="the story's")

    def command(folder: Path) -> None:
        seen.append(entries(folder))
        write(folder, deps__a=f"made in {folder}")
        if fails:
            raise DamascusError("no luck")

    try:
        set_up_in(checkout, lambda folder: write(folder, code="the base's"), command)
    except DamascusError:
        assert fails
    assert seen == [{"code"}]
    assert entries(checkout) == {"code", "new"} | (set() if fails else {"deps", "deps/a"})
    assert (checkout / "code").read_text() == "the story's"


@pytest.mark.req("D7", "T1")
def test_files_that_a_killed_set_up_left_aside_come_back(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    write(aside_of(checkout), code="the story's")
    write(checkout, code="the base's", deps="half")
    put_back(checkout)
    put_back(checkout)
    assert entries(checkout) == {"code"} and (checkout / "code").read_text() == "the story's"
