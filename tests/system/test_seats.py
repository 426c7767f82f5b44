"""Folders at constant paths inside the sandbox: a checkout is the same place for all that runs in it."""

import os
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.system import process, seats
from damascus.system.sandbox import Cage, Level, seats_at
from damascus.system.seats import Seat, Seats
from tests.levels import need


def said(cage: Cage, cwd: Path, command: str, log: Path) -> str:
    done = process.run(process.shell(command), cwd=cwd, env={"PATH": os.defpath}, log=log, timeout=30, cage=cage)
    assert done.exit_code == 0, done.tail
    return done.tail


@pytest.mark.req("W9")
def test_two_checkouts_have_one_path_and_no_other(tmp_path: Path) -> None:
    level, told = need(Level.BUBBLEWRAP), []
    for name in ("one", "two"):
        tree = tmp_path / name / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "who").write_text(name)
        cage = Cage(level, write=(tmp_path / name,), seats=seats_at(level, tree))
        command = f"pwd; echo $PWD; cat ../who; echo new > ../made; ls {tree}; cat {tree}/who 2>/dev/null; true"
        told.append(said(cage, tree / "sub", command, tmp_path / "log"))
        assert (tree / "made").read_text() == "new\n"
    where = f"{seats.CHECKOUT}/sub\n"
    assert told == [f"{where}{where}one", f"{where}{where}two"]


@pytest.mark.req("W9")
def test_a_seat_is_read_only_where_its_folder_is(tmp_path: Path) -> None:
    level, (tree, home, own) = need(Level.BUBBLEWRAP), (tmp_path / name for name in ("tree", "home", "own"))
    for folder in (tree, home, own):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    cage = Cage(level, write=(own,), read=(tree, home), seats=seats_at(level, tree, home))
    command = f"cat file {seats.HOME}/file; (echo x > file) 2>/dev/null || echo no; (echo x > {seats.HOME}/file) 2>&1"
    done = process.run(
        process.shell(command), cwd=tree, env={"PATH": os.defpath}, log=tmp_path / "log", timeout=30, cage=cage
    )
    assert done.tail.startswith("treehomeno\n") and done.exit_code != 0
    assert (tree / "file").read_text() == "tree" and (home / "file").read_text() == "home"


@pytest.mark.req("W9")
def test_what_is_shown_at_a_seat_already_stops_everything(tmp_path: Path) -> None:
    level = need(Level.BUBBLEWRAP)
    inner = tmp_path / "seat" / "below"
    for each, seat in ((inner, tmp_path / "seat"), (tmp_path, tmp_path / "seat")):
        tree = tmp_path / "tree"
        for folder in (inner, tree):
            folder.mkdir(parents=True, exist_ok=True)
        cage = Cage(level, write=(tree,), read=(each,), seats=Seats((Seat(tree, str(seat)),)))
        with pytest.raises(DamascusError, match=r"is the place of every checkout there. Move it elsewhere"):
            cage.enclose(["/bin/true"], tree, {})


@pytest.mark.req("W9")
@pytest.mark.parametrize("level", [Level.LANDLOCK, Level.UNCONFINED])
def test_without_mounts_nothing_is_moved(tmp_path: Path, level: Level) -> None:
    assert seats_at(level, tmp_path, tmp_path / "home") == Seats()
    assert Seats().inside(tmp_path) == str(tmp_path) == Seats().outside(str(tmp_path))


@pytest.mark.req("W9")
def test_paths_are_translated_by_whole_names(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    here = Seats((Seat(tree, seats.CHECKOUT),))
    for outside, inside in ((f"{tree}/a/b", "/mnt/checkout/a/b"), (str(tree), "/mnt/checkout"), ("a/b", "a/b")):
        assert here.inside(outside) == inside and here.outside(inside) == outside
    assert here.inside(f"{tree}s/a") == f"{tree}s/a" and here.outside("/mnt/checkouts/a") == "/mnt/checkouts/a"
    assert here.outside("/mnt/checkout/../secret") == "/mnt/checkout/../secret", "no way out of the folder"
    assert here.outside("/mnt/checkout/a/../b") == f"{tree}/b"
    assert here.retold(f"see {tree}/a, {tree}s and {tree}.") == f"see /mnt/checkout/a, {tree}s and /mnt/checkout."


@pytest.mark.req("W9")
def test_a_link_that_takes_the_place_of_a_checkout_brings_no_other_folder_to_its_seat(tmp_path: Path) -> None:
    tree, other = tmp_path / "tree", tmp_path / "other"
    tree.mkdir()
    other.mkdir()
    seated = Seats((Seat(tree, seats.CHECKOUT),))
    assert seated.inside(tree / "a") == f"{seats.CHECKOUT}/a"

    tree.rename(tmp_path / "aside")
    tree.symlink_to(other)

    assert seated.inside(other / "a") == str(other / "a")
    assert seated.inside(tree / "a") == f"{seats.CHECKOUT}/a"
