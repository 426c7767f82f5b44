"""The user's repository: found from any folder inside it, read with our own environment, changed by landing only.

It belongs to the user. Besides main, which `git/landing.py` moves, we write notes on what landed (`git/notes.py`) and
four keys of its git config:
`damascus.project` and `damascus.repository` (who it is, so that a moved folder is found again), `damascus.queue` and
`damascus.owner`.
"""

import fcntl
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import SHA_PATTERN, Sha, sha
from damascus.git.commands import Git, raise_for

QUEUE_LINE = re.compile(r"^\tqueue = ([^\"\\\\#;\n]+)$", re.MULTILINE)
"""As git writes a value that needs no quotes."""
MAIN_NAMES = ("main", "master", "develop")
TRUE_WORDS = {"", "true", "yes", "on", "1"}
GITLINK = b"160000"


@dataclass(frozen=True)
class Checkout:
    """A folder of the user's in which a branch is checked out, and the commit it stands at."""

    folder: Path
    head: Sha


@dataclass(frozen=True)
class Repository:
    """`top` is the folder with the files, `git_dir` what all its worktrees share (git's common dir)."""

    top: Path
    git_dir: Path

    @classmethod
    def discover(cls, folder: Path) -> "Repository":
        top = _folder_with_git(folder)
        own = git_dir_of(top)
        if own is None:
            raise DamascusError(f"{top}/.git is neither a folder nor a file that names one. Repair or clone it anew.")
        repository = cls(top, _shared_by_worktrees(own))
        repository._refuse_empty(own)
        return repository

    @property
    def git(self) -> Git:
        return Git.at(self.git_dir, self.top)

    def main_branch(self, preferred: str = "") -> str:
        names = (preferred,) if preferred else MAIN_NAMES
        if loose_ref(self.git_dir, f"refs/heads/{names[0]}"):
            return names[0]
        refs = self.git.out("for-each-ref", "--format=%(refname)", *(f"refs/heads/{name}" for name in names))
        there = set(refs.splitlines())
        for name in names:
            if f"refs/heads/{name}" in there:
                return name
        raise DamascusError(
            f"{self.top} has no branch {' or '.join(names)} to land on. Create it (git branch {names[0]}), or name "
            "yours as main_branch under [project] in damascus.toml."
        )

    def tip(self, branch: str) -> Sha:
        """Where a branch stands. A loose ref is read as the file it is: this is looked at before every story."""
        if (loose := loose_ref(self.git_dir, f"refs/heads/{branch}")) is not None:
            return loose
        found = self.git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}", check=False)
        if found.code != 0:
            raise DamascusError(f"{self.top} has no branch {branch} any more. Create it: git branch {branch} COMMIT")
        return sha(found.text)

    def marks(self, main: str) -> object:
        """Something that differs whenever the git config, the main branch or the choice of it may. None where refs are
        kept in another way than in files."""
        if (self.git_dir / "reftable").exists():
            return None
        try:
            packed = (self.git_dir / "packed-refs").stat()
        except FileNotFoundError:
            packed = None
        tips = [(name, loose_ref(self.git_dir, f"refs/heads/{name}")) for name in sorted({main, *MAIN_NAMES})]
        config = (self.git_dir / "config").read_bytes()
        return config, tips, packed and (packed.st_ino, packed.st_size, packed.st_mtime_ns)

    # ── what we don't support yet ─────────────────────────────────────────────────────────────────────

    def refuse_unsupported(self, branch: str = "", prefix: str = "feat/") -> None:
        """Each kind of repository that would go wrong later is refused now, by name."""
        self._refuse_missing_objects()
        self._refuse_taken_prefix(prefix)
        self._refuse_tracked_kinds(branch or self.main_branch())

    def _refuse_missing_objects(self) -> None:
        settings = self._settings()
        if "extensions.partialclone" in settings or any(
            key.startswith("remote.") and key.endswith((".promisor", ".partialclonefilter")) for key in settings
        ):
            raise self._unsupported("a partial clone", "Work in a full one: git clone URL, without --filter.")
        if (self.git_dir / "shallow").exists():
            raise self._unsupported("a shallow clone", "Fetch the rest of its history: git fetch --unshallow")
        if settings.get("core.sparsecheckout", "false").lower() in TRUE_WORDS:
            raise self._unsupported("a sparse checkout", "Check out all of it: git sparse-checkout disable")

    def _refuse_taken_prefix(self, prefix: str) -> None:
        parts = prefix.split("/")[:-1]
        for name in ("/".join(parts[: n + 1]) for n in range(len(parts))):
            if self.git.run("show-ref", "--verify", "--quiet", f"refs/heads/{name}", check=False).code == 0:
                raise DamascusError(
                    f"{self.top} has a branch called {name}, so no branch {prefix}STORY can exist. Rename it "
                    f"(git branch -m {name} NEWNAME), or set another branch_prefix under [project] in damascus.toml."
                )

    def _refuse_tracked_kinds(self, branch: str) -> None:
        listed = self.git.run("ls-tree", "-r", "-z", "--full-tree", f"refs/heads/{branch}").raw.split(b"\0")
        entries = [(line.split(b"\t", 1)[0].split(), line.split(b"\t", 1)[1]) for line in listed if line]
        if any(path == b".gitmodules" or fields[0] == GITLINK for fields, path in entries):
            raise self._unsupported("a repository with submodules", "Use one without .gitmodules on its main branch.")
        rules = [fields[2] for fields, path in entries if path.rsplit(b"/", 1)[-1] == b".gitattributes"]
        if rules and b"filter=lfs" in self.git.run("cat-file", "--batch", data=b"\n".join(rules) + b"\n").raw:
            raise self._unsupported(
                "a repository with Git LFS", "Take filter=lfs out of its .gitattributes: git lfs migrate export"
            )

    def _unsupported(self, kind: str, remedy: str) -> DamascusError:
        return DamascusError(f"{self.top} is {kind}, which Damascus does not support yet. {remedy}")

    # ── what we keep in its git config ────────────────────────────────────────────────────────────────

    def project_uuid(self, create: bool) -> UUID | None:
        return self._uuid("damascus.project", uuid4() if create else None)

    def own_uuid(self, wanted: UUID | None = None) -> UUID | None:
        """Which repository of its project it is; `wanted` is remembered where nothing is yet."""
        return self._uuid("damascus.repository", wanted)

    def identity(self) -> tuple[UUID | None, UUID | None]:
        """Its project and which repository of it, in one look: every command begins with it."""
        found = self.git.run("config", "--get-regexp", r"^damascus\.(project|repository)$", check=False)
        known = dict(line.partition(" ")[::2] for line in found.text.splitlines())
        project, own = known.get("damascus.project"), known.get("damascus.repository")
        return self._parsed("damascus.project", project), self._parsed("damascus.repository", own)

    def join(self, project: UUID, own: UUID) -> None:
        """From now on a repository of that project."""
        with self._alone():
            self.git.run("config", "damascus.project", str(project))
            self.git.run("config", "damascus.repository", str(own))

    def _uuid(self, key: str, wanted: UUID | None) -> UUID | None:
        with self._alone():
            text = self._setting(key)
            if text is None and wanted is not None:
                text = str(wanted)
                self.git.run("config", key, text)
        return self._parsed(key, text)

    def _parsed(self, key: str, text: str | None) -> UUID | None:
        try:
            return UUID(text) if text else None
        except ValueError:
            raise DamascusError(
                f"{key} in the git config of {self.top} is {text!r}, not a uuid. "
                f"Remove it: {self._config_command(f'--unset {key}')}"
            ) from None

    def lock_queue(self, queue: str, owner: str) -> None:
        """One queue per repository: two would land past each other. Owner first, so that no lock is nameless."""
        with self._alone():
            holder, named = self._setting("damascus.queue"), self._setting("damascus.owner")
            if holder not in (None, queue):
                raise DamascusError(
                    f"{self.top} is worked by another Damascus queue, of {named or 'an unnamed owner'}. "
                    f"If that one is gone, take over: {self._config_command(f'damascus.queue {shlex.quote(queue)}')}"
                )
            if named != owner:
                self.git.run("config", "damascus.owner", owner)
            if holder is None:
                self.git.run("config", "damascus.queue", queue)

    def data_folder(self) -> Path | None:
        """The data folder of the queue that works this repository. Every command asks: mostly one file tells."""
        try:
            config = (self.git_dir / "config").read_text("utf-8", errors="surrogateescape")
        except OSError:
            return None
        if "[damascus]" not in config:
            return None
        told = QUEUE_LINE.findall(config.partition("[damascus]")[2].partition("\n[")[0])
        queue = told[0] if len(told) == 1 else self._setting("damascus.queue")
        folder = (queue or "").partition(" ")[2]
        return Path(folder) if folder.startswith("/") else None

    @property
    def forget_command(self) -> str:
        return self._config_command("--remove-section damascus")

    def _setting(self, key: str) -> str | None:
        found = self.git.run("config", "--get", key, check=False)
        if found.code not in (0, 1):
            raise_for(("config", "--get", key), found)
        return found.text if found.code == 0 else None

    def _settings(self) -> dict[str, str]:
        own = git_dir_of(self.top) or self.git_dir
        pairs = Git.at(own, self.top).run("config", "--list", "-z").raw.decode("utf-8", "replace").split("\0")
        return {key.lower(): value for key, _, value in (pair.partition("\n") for pair in pairs) if key}

    def _config_command(self, words: str) -> str:
        return f"git -C {shlex.quote(str(self.top))} config {words}"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Look and write as one: two `init` at once must agree on one uuid. The lock dies with its process."""
        handle = os.open(self.git_dir, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    # ── where branches are checked out ────────────────────────────────────────────────────────────────

    def checked_out_at(self, branch: str) -> Path | None:
        return next((checkout.folder for checkout in self.checkouts(branch)), None)

    def checkouts(self, branch: str) -> list[Checkout]:
        """Every worktree that has the branch checked out; more than one only if the user forced it."""
        if self._is_alone():
            here = (self.git_dir / "HEAD").read_text().strip() == f"ref: refs/heads/{branch}"
            return [Checkout(self.top, self.tip(branch))] if here else []
        found = []
        for record in self.git.out("worktree", "list", "--porcelain", "-z").split("\0\0"):
            fields = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
            if fields.get("branch") == f"refs/heads/{branch}":
                found.append(Checkout(self._real_folder(Path(fields["worktree"])), sha(fields["HEAD"])))
        return found

    def _is_alone(self) -> bool:
        """A plain repository with one worktree: its HEAD is a file that can simply be read."""
        git = self.git_dir
        plain = git == self.top / ".git" and not (git / "HEAD").is_symlink() and not (git / "worktrees").exists()
        return plain and b"worktree" not in (git / "config").read_bytes().lower()

    def _real_folder(self, listed: Path) -> Path:
        """Git lists the main worktree of a repository with a separate git dir under the git dir's own name."""
        return self.top if listed == self.git_dir and git_dir_of(self.top) == self.git_dir else listed

    def _refuse_empty(self, own: Path) -> None:
        if loose_ref(self.git_dir, _branch_of(own)):
            return
        git = Git.at(own, self.top)
        head = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        if head.code == 0:
            return
        branches = git.run("for-each-ref", "--count=1", "refs/heads", check=False)
        if branches.code != 0:
            raise DamascusError(f"git can't read the repository {self.top}: {branches.stderr.strip()[-300:]}")
        if not branches.raw:
            raise DamascusError(f"{self.top} has no commits yet. Make the first one: git add -A && git commit")


def git_dir_of(folder: Path) -> Path | None:
    """The git dir of exactly this worktree; for a linked one not the one it shares."""
    entry = folder / ".git"
    if entry.is_dir():
        return entry.resolve()
    try:
        words = entry.read_text(errors="surrogateescape")
    except OSError:
        return None
    found = (folder / words.removeprefix("gitdir:").strip()).resolve()
    return found if words.startswith("gitdir:") and found.is_dir() else None


def loose_ref(git_dir: Path, ref: str) -> Sha | None:
    """Where a ref stands, if it is a file of its own."""
    try:
        text = (git_dir / ref).read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return Sha(text) if SHA_PATTERN.fullmatch(text) else None


def _branch_of(own: Path) -> str:
    """The ref that a worktree has checked out; HEAD itself if that is a commit."""
    try:
        text = (own / "HEAD").read_text().strip()
    except (OSError, ValueError):
        return "HEAD"
    return text.removeprefix("ref: ") if text.startswith("ref: refs/") else "HEAD"


def _shared_by_worktrees(own: Path) -> Path:
    pointer = own / "commondir"
    return (own / pointer.read_text().strip()).resolve() if pointer.is_file() else own


def _folder_with_git(folder: Path) -> Path:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder. Name one inside your git repository.")
    here = folder.resolve()
    for place in (here, *here.parents):
        if (place / ".git").exists():
            return place
        if place.name != ".git" and (place / "HEAD").is_file() and (place / "objects").is_dir():
            raise DamascusError(
                f"{place} is a bare repository, which Damascus does not support. Work in a clone of it that has "
                f"files: git clone {shlex.quote(str(place))}"
            )
    raise DamascusError(f"{here} is not in a git repository. Go to one, or make one: git init && git commit")
