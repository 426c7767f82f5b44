"""What we wrote into the user's checkout ourselves makes way for a landing; what holds a word of theirs never does.

A file is ours where its bytes are exactly those of our last projection, and that differed from main's own by our part
alone (store/projections.py). It goes back to what the checked out commit has, git's merge moves it on, and it is
written anew afterwards. Whatever was staged is the user's.
"""

import hashlib
from collections.abc import Mapping

from damascus.domain.ids import Sha
from damascus.git.commands import Git
from damascus.git.repository import Checkout

OurFiles = Mapping[str, tuple[str, str]]
"""By path the hash of what we wrote, and of main's own file that it was made from ("": main had none)."""


def make_way(git: Git, checkout: Checkout, new: Sha, ours: OurFiles) -> list[str]:
    """The files that were put back."""
    wanted = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", checkout.head, new, "--", *sorted(ours))
    named = git.run(*wanted, work_tree=checkout.folder, check=False).raw.decode("utf-8", "surrogateescape")
    touched = [path for path in named.split("\0") if path in ours]
    return [path for path in touched if _is_ours(git, checkout, path, ours[path]) and _put_back(git, checkout, path)]


def _is_ours(git: Git, checkout: Checkout, path: str, known: tuple[str, str]) -> bool:
    """Also the commit that is checked out must still be what it was made from: what a `git reset` took out of main is
    in no commit that a person would look at."""
    place = checkout.folder / path
    try:
        written = "" if place.is_symlink() else _hash(place.read_bytes())
    except OSError:
        return False
    blob = git.run("cat-file", "blob", f"{checkout.head}:{path}", work_tree=checkout.folder, check=False)
    return (written, _hash(blob.raw) if blob.code == 0 else "") == known


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _put_back(git: Git, checkout: Checkout, path: str) -> bool:
    folder = checkout.folder
    staged = git.run("diff-index", "--cached", "--quiet", checkout.head, "--", path, work_tree=folder, check=False)
    if staged.code != 0:
        return False
    if git.run("ls-tree", "-z", checkout.head, "--", path, work_tree=folder).raw:
        return git.run("checkout-index", "--force", "--index", "--", path, work_tree=folder, check=False).code == 0
    (folder / path).unlink(missing_ok=True)
    return True
