"""Objects that we write: as git would, and in trouble with the system's own number. What libgit2 may open."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

from damascus.domain.failures import transient_os_error
from damascus.git.commands import Git
from damascus.git.objects import Objects
from damascus.git.opened import OpenedRepository
from tests.git.repos import Project, as_nobody, git, give_to_nobody, planted_program


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    git(tmp_path, "init", "-q", "--bare", "store.git")
    return Objects(Git.at(tmp_path / "store.git"))


def test_what_is_written_is_gits_own_and_may_be_read_by_all(objects: Objects) -> None:
    for durable in (False, True):
        data = b"\0\xff" * 5000 + bytes([durable])
        sha = objects.write("blob", data, durable=durable)
        assert sha == objects.git.run("hash-object", "--stdin", data=data).text
        assert objects.git.run("cat-file", "blob", sha).raw == data
        file = objects.git.git_dir / "objects" / sha[:2] / sha[2:]
        assert file.stat().st_mode & 0o777 == 0o444
        os.utime(file, (1, 1))
        assert objects.write("blob", data, durable=durable) == sha
        assert file.stat().st_mtime > 1, "a fresh date keeps it from a prune"
    assert sorted(path.name for path in (objects.git.git_dir / "objects").iterdir() if len(path.name) > 2) == [
        "info",
        "pack",
    ], "nothing temporary is left"


def test_what_a_pack_has_is_written_as_a_file_too(tmp_path: Path) -> None:
    """So that one that was brought again stands in for the damaged one in the pack."""
    project = Project(tmp_path)
    blob = git(project.repo, "rev-parse", "main:src/app.py")
    project.mirror.git.run("repack", "-a", "-d", "-q")
    file = project.mirror.store / "objects" / blob[:2] / blob[2:]
    assert not file.exists()
    assert project.mirror.write_blob(b"def f():\n    return 1\n") == blob
    assert file.exists()


def test_a_missing_right_and_a_missing_folder_are_told_with_their_number(objects: Objects) -> None:
    folder = objects.git.git_dir / "objects"
    give_to_nobody(objects.git.git_dir)
    folder.chmod(0o555)

    def refused() -> None:
        with pytest.raises(PermissionError):
            objects.write("blob", b"x")

    as_nobody(refused)
    gone = Objects(Git.at(objects.git.git_dir / "nowhere"))
    with pytest.raises(FileNotFoundError) as told:
        gone.write("blob", b"x")
    assert told.value.errno == errno.ENOENT
    assert Path(told.value.filename).is_relative_to(objects.git.git_dir)


def test_a_full_disk_is_told_as_one(objects: Objects) -> None:
    folder = objects.git.git_dir / "objects"
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip(f"needs root for: {' '.join(command)}")
    try:
        with pytest.raises(OSError) as told:
            objects.write("blob", os.urandom(500_000))
        assert told.value.errno == errno.ENOSPC and transient_os_error(told.value)
        assert list(folder.glob("tmp_*")) == []
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_threads_write_the_same_objects_at_once(objects: Objects) -> None:
    written: list[list[str]] = []

    def write() -> None:
        written.append([objects.write("blob", b"%d" % n) for n in range(200)])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(written) == 4 and all(each == written[0] for each in written)
    objects.git.run("fsck", "--full", "--strict")


def test_a_pack_that_was_written_over_ends_no_worker(tmp_path: Path) -> None:
    """libgit2 loops for ever on one like this; git, which reads packs for us, does not."""
    project = Project(tmp_path, {f"d/{n}": f"{n}\n" * 40 for n in range(60)})
    blobs = [git(project.repo, "rev-parse", f"main:d/{n}") for n in range(60)]
    project.mirror.git.run("repack", "-a", "-d", "-q")
    (pack,) = (project.mirror.store / "objects/pack").glob("*.pack")
    pack.chmod(0o644)
    whole = pack.read_bytes()
    middle = len(whole) // 2
    pack.write_bytes(whole[:middle] + os.urandom(300) + whole[middle + 300 :])
    project.mirror.objects.disk.forget()
    found = project.mirror.objects.find(blobs)
    assert [each.data for each in found if each is not None] == [b"%d\n" % n * 40 for n in range(60)]


# ── only what is ours is opened ───────────────────────────────────────────────────────────────────────────


def test_no_config_of_the_user_is_read() -> None:
    levels = (ConfigLevel.SYSTEM, ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.PROGRAMDATA)
    assert [pygit2.settings.search_path[level] for level in levels] == [""] * 4
    assert pygit2.settings.owner_validation


def test_no_repository_is_looked_for(tmp_path: Path) -> None:
    """A folder inside a repository, and a .git that an agent may have planted there."""
    project = Project(tmp_path)
    below = project.mirror.store / "damascus-indexes"
    below.mkdir()
    workspace = project.workspace().path
    planted_program(tmp_path, tmp_path / "ran")
    for folder in (below, workspace, project.repo):
        with pytest.raises(pygit2.GitError, match="not found"), OpenedRepository(folder).use():
            pass


def test_another_folder_in_its_place_is_opened_anew(tmp_path: Path) -> None:
    one, other = Project(tmp_path / "one"), Project(tmp_path / "other", {"another": "1\n"})
    opened = OpenedRepository(one.mirror.store)
    with opened.use() as first:
        assert str(first.lookup_reference("refs/remotes/origin/main").target) == one.main
    tip = other.main
    one.mirror.store.rename(tmp_path / "aside")
    with pytest.raises(pygit2.GitError, match="not found"), opened.use():
        pass
    other.mirror.store.rename(one.mirror.store)
    with opened.use() as second:
        assert str(second.lookup_reference("refs/remotes/origin/main").target) == tip


def test_looking_does_not_load_libgit2() -> None:
    """It takes a tenth of a second."""
    look = "import sys, damascus.cli.main, damascus.git.repository, damascus.git.trees; print('pygit2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
