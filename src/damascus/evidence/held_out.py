"""A folder of held-out tests, as a tar in memory: laid over a checkout, read for what its tests name.

Code under test must not be able to tell that it is held to them. So the folder lies where the visible tests lie, under
a name that is made of the project's own words and new for each tree, and is run as the visible tests are.
"""

import hashlib
import io
import random
import re
import secrets
import shutil
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from damascus.domain.ports import Candidate
from damascus.domain.scope import HELD_OUT
from damascus.evidence.diff_paths import WORD, named_paths, test_paths
from damascus.stacks import tests_in
from damascus.stacks.made_up import MadeUp

SECRET = secrets.token_bytes(16)
"""Of this process: nobody can tell a folder's name beforehand, and the same tree has the same one again."""
PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
PLAIN_COMMAND = re.compile(r"[\w\s./:=,@+\[\]-]+")
TEST_FILE = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
SELECTS = ("-k", "-m", "--deselect", "--ignore", "--ignore-glob")
MOST_NAMED = 20


@dataclass(frozen=True)
class HeldOutFile:
    path: str
    content: bytes
    executable: bool


def held_out_files(archive: bytes) -> Iterator[HeldOutFile]:
    """Its regular files. Links, devices and paths that leave the folder are not laid over anything."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            stream = tar.extractfile(member) if member.isreg() else None
            if stream is None or path.is_absolute() or ".." in path.parts:
                continue
            yield HeldOutFile(str(path), stream.read(), bool(member.mode & 0o100))


def lay_over(archive: bytes, checkout: Path, folder: str) -> None:
    """Into its own folder; what the candidate may have put at that name goes first, be it a link."""
    target = checkout / folder
    no_links_on_the_way(target, checkout)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    target.mkdir(parents=True)
    for file in held_out_files(archive):
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        named = file.path == "run"  # scripts that name the folder as it was called once
        place.write_bytes(file.content.replace(HELD_OUT.encode(), folder.encode()) if named else file.content)
        place.chmod(0o755 if file.executable else 0o644)


def no_links_on_the_way(target: Path, checkout: Path) -> None:
    """A folder that the candidate made a link would lead what is laid elsewhere."""
    for folder in reversed(target.relative_to(checkout).parents[:-1]):
        if (checkout / folder).is_symlink():
            (checkout / folder).unlink()


def folder_of(candidate: Candidate) -> str:
    """Below the folder of the visible tests; named by their words and one that nobody knows."""
    assert candidate.acceptance is not None
    visible = _visible_tests(candidate)
    words = [
        name for path in visible[:5] for name in tests_in(candidate.read(candidate.commit, path) or b"", path).tests
    ]
    seed = hashlib.blake2b(candidate.acceptance, key=SECRET, salt=candidate.tree.encode()[:16]).digest()
    name = "_".join(MadeUp(words, draw=random.Random(seed)).words()[:3])
    parent = str(PurePosixPath(visible[-1]).parent) if visible else "."
    return name if parent == "." else f"{parent}/{name}"


def _visible_tests(candidate: Candidate) -> list[str]:
    listing = candidate.files(candidate.commit)
    named = [path for path in named_paths(candidate.spec.test_command) if path in listing]
    below = [path.rstrip("/") for path in named_paths(candidate.spec.test_command)]
    changed = [path for path in test_paths(candidate) if path in listing]
    asked = [path for path in changed if any(path.startswith(f"{folder}/") for folder in below)]
    return named or asked or changed


def acceptance_command(
    files: Collection[HeldOutFile], test_command: str, folder: str, listing: Collection[str] = ()
) -> str:
    """Its own `run` if it has one, else the Test Command on the held-out tests, else pytest with its Python."""
    if any(file.path == "run" and file.executable for file in files):
        return f"./{folder}/run"
    words = WORD.findall(test_command)
    python = next((word for word in words if PYTHON.fullmatch(word)), None)
    if python is not None and PLAIN_COMMAND.fullmatch(test_command) and f"{python} -m pytest" in test_command:
        return _same_shape(files, test_command, folder, listing)
    beside = next((word for word in words if PurePosixPath(word).name == "pytest" and "/" in word), None)
    if python is None and beside is not None:
        python = str(PurePosixPath(beside).parent / "python")
    if python is None and "pytest" in words:
        return f'PYTHONPATH=".${{PYTHONPATH:+:$PYTHONPATH}}" pytest -q {folder}'
    return f"{python or 'python3'} -m pytest -q {folder}"


def _same_shape(files: Collection[HeldOutFile], command: str, folder: str, listing: Collection[str]) -> str:
    """The words of the Test Command with the held-out places instead of its own, and nothing that selects by name."""
    head, _, tail = command.partition("-m pytest")
    kept: list[str] = []
    at, by_file, skip = -1, False, False
    for word in tail.split():
        path = word.split("::")[0].rstrip("/").removeprefix("./")
        if skip or word.partition("=")[0] in SELECTS:
            skip = not skip and "=" not in word
        elif path in listing or path.endswith(".py") or any(other.startswith(f"{path}/") for other in listing):
            at, by_file = (len(kept) if at < 0 else at), path.endswith(".py")
        else:
            kept.append(word)
    kept[at if at >= 0 else len(kept) : at if at >= 0 else len(kept)] = _places(files, folder, by_file)
    return f"{head}-m pytest {' '.join(kept)}"


def _places(files: Collection[HeldOutFile], folder: str, by_file: bool) -> list[str]:
    """Files where the visible ones are named as files, if no test is lost by that."""
    named = [file.path for file in files if TEST_FILE.fullmatch(file.path)]
    others = [file for file in files if file.path not in named and tests_in(file.content, file.path).tests]
    plain = all(re.fullmatch(r"[\w./-]+", path) for path in named)
    if not by_file or not named or others or not plain or len(named) > MOST_NAMED:
        return [folder]
    return [f"{folder}/{path}" for path in sorted(named)]
