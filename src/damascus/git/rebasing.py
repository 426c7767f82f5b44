"""A candidate is one commit on its parent; moving it onto another commit is a three-way merge in memory.

Where both only add and change files, and not the same ones, there is nothing to merge: the candidate's files are laid
over the target's. The rest is git's: `git merge-tree` finds the merge base by itself. So that this is always the
candidate's parent, also where main was rewritten, the target is given as a commit of its own: the target's tree, with
the candidate's parent as its parent.
"""

from dataclasses import dataclass

from damascus.domain.ids import Sha, short
from damascus.git.commands import GitResult, raise_for
from damascus.git.objects import Commit, Objects, identity_now
from damascus.git.tree_diff import changed_files, only_came_or_changed
from damascus.git.trees import parents

DETAILS_LIMIT = 8000
CUT = "\n… (cut)"


@dataclass(frozen=True)
class Rebased:
    """The candidate on its new parent."""

    commit: Sha
    tree: Sha
    onto: Sha


@dataclass(frozen=True)
class Conflicted:
    """What stands against it; `details` has git's messages and the hunks, as text for an agent."""

    files: tuple[str, ...]
    their_sha: Sha
    details: str
    tree: Sha | None = None
    """The merge as far as it went, with conflict markers: where the next attempt starts."""


def rebase(objects: Objects, commit: Sha, onto: Sha) -> Rebased | Conflicted:
    candidate = objects.commit(commit)
    if len(candidate.parents) != 1:
        raise ValueError(f"a candidate has one parent, {commit} has {len(candidate.parents)}")
    if candidate.parents[0] == onto:
        return Rebased(commit, candidate.tree, onto)
    tree = _laid_over(objects, candidate, onto)
    if tree is None:
        ours = _as_sibling(objects, onto, candidate.parents[0])
        result = _merge(objects, ours, commit)
        if result.code == 1:
            return _conflicted(objects, result, {ours: f"main ({short(onto)})", commit: "this story"}, onto)
        tree = _tree(result)
    return Rebased(objects.write_commit(Commit(tree, (onto,), candidate.author, candidate.message)), tree, onto)


def _laid_over(objects: Objects, candidate: Commit, onto: Sha) -> Sha | None:
    """The merged tree where no file is touched by both. None: ask git, also wherever something was deleted, which may
    be half of a rename."""
    base = objects.tree_of(candidate.parents[0])
    mine, others = (changed_files(objects.folder_at, base, tree) for tree in (candidate.tree, objects.tree_of(onto)))
    if not only_came_or_changed((*mine, *others)):
        return None
    paths, taken = {file.path for file in mine}, {file.path for file in others}
    if paths & (taken | _folders(taken)) or taken & _folders(paths):
        return None
    return objects.overlay(onto, candidate.tree, sorted(paths))


def _folders(paths: set[str]) -> set[str]:
    return {folder for path in paths for folder in parents(path)}


def merged_tree(objects: Objects, tree: Sha, was: Sha, onto: Sha) -> Sha:
    """`onto` with the changes from `was` to `tree`; where they conflict, the files hold git's markers."""
    mine = objects.write_commit(Commit(tree, (was,), identity_now(), "mine\n"))
    return _tree(_merge(objects, _as_sibling(objects, onto, was), mine))


def _as_sibling(objects: Objects, onto: Sha, parent: Sha) -> Sha:
    return objects.write_commit(Commit(objects.commit(onto).tree, (parent,), identity_now(), "target\n"))


def _merge(objects: Objects, ours: Sha, theirs: Sha) -> GitResult:
    """Exit code 0: clean; 1: conflicts."""
    args = ("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
    result = objects.git.run(*args, check=False)
    if result.code not in (0, 1):
        raise_for(args, result)
    return result


def _tree(result: GitResult) -> Sha:
    return Sha(result.raw.split(b"\0")[0].decode().strip())


def _conflicted(objects: Objects, result: GitResult, names: dict[Sha, str], onto: Sha) -> Conflicted:
    tree, *rest = result.raw.decode("utf-8", errors="surrogateescape").split("\0")
    end = rest.index("") if "" in rest else len(rest)
    files = tuple(dict.fromkeys(rest[:end]))
    blobs = objects.find([f"{tree}:{path}" for path in files])
    hunks = [_hunks(path, blob.data) for path, blob in zip(files, blobs, strict=True) if blob is not None]
    text = "\n".join([*_messages(rest[end + 1 :]), *(hunk for hunk in hunks if hunk)])
    for sha, name in names.items():
        text = text.replace(sha, name)
    clean = text.encode("utf-8", errors="replace").replace(b"\0", b"")
    shown = clean.decode() if len(clean) <= DETAILS_LIMIT else _cut(clean)
    return Conflicted(files, onto, shown, Sha(tree.strip()))


def _cut(text: bytes) -> str:
    return text[: DETAILS_LIMIT - len(CUT.encode())].decode("utf-8", errors="ignore") + CUT


def _messages(fields: list[str]) -> list[str]:
    """Records of `<count> <path>… <kind> <message>`, the conflicts only."""
    messages = []
    at = 0
    while at < len(fields) and fields[at].isdigit():
        count = int(fields[at])
        kind, message = fields[at + count + 1 : at + count + 3]
        if kind.startswith("CONFLICT"):
            messages.append(message.strip())
        at += count + 3
    return messages


def _hunks(path: str, data: bytes) -> str:
    """The lines between conflict markers, under the file's name."""
    lines: list[str] = []
    inside = False
    for line in data.decode("utf-8", errors="replace").splitlines():
        inside = inside or line.startswith("<<<<<<< ")
        if inside:
            lines.append(line)
        if line.startswith(">>>>>>> "):
            inside = False
    return "\n".join([f"\n{path}:", *lines]) if lines else ""
