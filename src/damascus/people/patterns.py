"""The pattern library for people: searched on main, and decisions that become patterns by a person's word (A4)."""

import re
from dataclasses import dataclass
from pathlib import Path

from damascus import stacks
from damascus.app import Project
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import short
from damascus.domain.spec import parse_spec
from damascus.people.acts import Actor, Done
from damascus.store import patterns as store
from damascus.store.db import Database, Row
from damascus.system.replacing import replace_file
from damascus.tasks.pattern_entries import NewPattern, next_id, with_entry, with_row
from damascus.tasks.pattern_search import Match, TaskWords, domains_of, same, search
from damascus.tasks.patterns import LARGEST, PATTERN_ID, Library, named_files, read_library, words

NUMBER = re.compile(r"(?:DECISION-)?(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """What fits, best first, and what of the library could not be read."""

    matches: tuple[Match, ...]
    faults: tuple[str, ...]

    def published(self) -> dict[str, object]:
        """The keys that programs read."""
        listed = [
            {"pattern": one.pattern.id, "title": one.pattern.title, "file": one.pattern.file, "points": one.points,
             "keywords": list(one.pattern.keywords), **one.pattern.fields} for one in self.matches
        ]  # fmt: skip
        return {"patterns": listed, "faults": list(self.faults)}


@dataclass(frozen=True)
class NewInLibrary(Done):
    """The pattern, the decision that it was, and the files that were written for the person to commit."""

    pattern: str
    decision: str
    files: tuple[str, ...]


def library_on_main(project: Project) -> Library:
    """As a story would find it that begins now."""
    git, index = project.repository.git, project.config.patterns.index
    tip = project.repository.tip(project.row.main_branch)

    def read(path: str) -> bytes | None:
        done = git.run("cat-file", "blob", f"{tip}:{path}", check=False)
        return done.raw if done.code == 0 else None

    raw = read(index)
    if raw is None:
        return Library(faults=(f"{index} is not on {project.row.main_branch}",))
    named = named_files(index, raw)
    listed = git.out("ls-tree", "-r", "-z", "--name-only", str(tip)).split("\0")
    wanted = [
        p for p in listed if p.endswith(".md") and any(p == n or (n.endswith("/") and p.startswith(n)) for n in named)
    ]
    files = {path: found for path in wanted[:200] if (found := read(path)) is not None}
    return read_library(index, raw, files)


def find(project: Project, said: list[str]) -> Found:
    """By words: a domain among them counts as one."""
    if not words(" ".join(said)):
        raise UsageError("name the words to look for. Write it like: damascus patterns search auth session")
    library = library_on_main(project)
    heard = frozenset(words(" ".join(said)))
    wanted = TaskWords(frozenset(same(word) for word in said), frozenset(), heard)
    return Found(tuple(search(library, wanted)), library.faults)


def candidates(db: Database, project: Project) -> list[Row]:
    return store.candidates(db, project.row.id)


def accept(db: Database, project: Project, decision: str, person: Actor, as_id: str = "") -> NewInLibrary:
    """The entry and its line of the index are written into the person's folder: to be read, edited and committed."""
    row = _decision(db, project, decision)
    top, index = project.repository.top, project.config.patterns.index
    raw = _bytes(top, index)
    named = named_files(index, raw)
    files = {path: _bytes(top, path) for path in named if path.endswith(".md")}
    files |= {
        str(p.relative_to(top)): p.read_bytes()[:LARGEST] for n in named if n.endswith("/") for p in _entries(top, n)
    }
    library = read_library(index, raw, files)
    new = _new(project, row, as_id or _named(row, library) or next_id(library))
    written: tuple[str, ...] = ()
    known = library.find(new.id)
    if known is None or not known.fields:
        written = _written(top, index, raw, named, new)
    elif new.decision not in known.told("evidence"):
        raise UsageError(f"{new.id} is in the library already ({known.title}). Name another: --as {next_id(library)}")
    if not store.accept(db, project.row.id, row["number"], new.id, person.name):
        raise DamascusError(f"{new.decision} was accepted at this moment by somebody else. See: git diff")
    listed = ", ".join(written) or known.file if known else ", ".join(written)
    said = f"{new.decision} is {new.id} of the library, by {person.name}: {listed}. Agents see it once it is on main."
    return NewInLibrary(
        said, f"read it, then git add {' '.join(written) or listed} && git commit", new.id, new.decision, written
    )


def _decision(db: Database, project: Project, decision: str) -> Row:
    number = NUMBER.fullmatch(decision.strip())
    if number is None:
        raise UsageError(f"{decision!r} is no decision. Write it like: damascus patterns accept DECISION-007")
    row = store.decision(db, project.row.id, int(number[1])) if int(number[1]) < 2**31 else None
    if row is None:
        raise DamascusError(
            f"there is no DECISION-{int(number[1]):03d}. See which there are: damascus patterns candidates"
        )
    if row["accepted_by"] is not None:
        raise DamascusError(
            f"DECISION-{row['number']:03d} was accepted already, by {row['accepted_by']}. Nothing was changed."
        )
    return row


def _named(row: Row, library: Library) -> str:
    """The id that the decision itself proposes, while it is free."""
    proposed = PATTERN_ID.search(row["pattern"])
    ident = proposed[0].rstrip("-") if proposed else ""
    return ident if ident and library.find(ident) is None else ""


def _new(project: Project, row: Row, ident: str) -> NewPattern:
    if not PATTERN_ID.fullmatch(ident):
        raise UsageError(f"{ident!r} is no id of a pattern. Write it like: --as PATTERN-012")
    spec = parse_spec(bytes(row["spec"]), row["story_id"], rough=True)
    files = project.repository.git.out("ls-files", "-z").split("\0")
    landed = f", {short(row['merged_commit'])}" if row["merged_commit"] else ""
    decision = f"DECISION-{row['number']:03d}"
    return NewPattern(
        id=ident,
        title=row["title"],
        domain=", ".join(sorted(domains_of(spec))),
        stack=", ".join(stack.name for stack in stacks.detect(files)),
        context=row["context"],
        pattern=row["decision"],
        pitfall=row["trade_off"],
        decision=decision,
        evidence=f"{decision} of {row['story_id']}{landed}",
    )


# ── the person's folder ───────────────────────────────────────────────────────────────────────────────


def _entries(top: Path, folder: str) -> list[Path]:
    return [path for path in sorted((top / folder).rglob("*.md"))[:200] if path.is_file() and not path.is_symlink()]


def _bytes(top: Path, name: str) -> bytes:
    """b"": it is not there yet."""
    path = top / name
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UsageError(f"{name} is no plain file. Nothing was written.")
        return path.read_bytes() if path.exists() else b""
    except OSError as err:
        raise UsageError(f"{name} can't be read: {err.strerror or err}. Nothing was written.") from None


def _written(top: Path, index: str, raw: bytes, named: list[str], new: NewPattern) -> tuple[str, ...]:
    """Into the folder that the index names, else into its file, else into the index itself."""
    folder = next((name for name in named if name.endswith("/")), "")
    file = f"{folder}{new.id}.md" if folder else next((name for name in named if name.endswith(".md")), index)
    changed = {index: with_row(raw, new, index)}
    changed[file] = with_entry(changed[index] if file == index else _bytes(top, file), new, file)
    try:
        for name, content in changed.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(top / name, content)
    except OSError as err:
        raise UsageError(f"{err.filename} can't be written: {err.strerror}. The decision is not accepted.") from None
    return tuple(changed)
