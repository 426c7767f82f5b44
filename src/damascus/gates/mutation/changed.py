"""What a candidate changed outside of tests: functions, each with its mutants, and what lies outside of functions."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.gates.diff_paths import is_judge, is_test
from damascus.stacks.mutants import Function, Part, edited, functions_in, outside, reads
from damascus.stacks.probes.reading import Seen


@dataclass(frozen=True)
class Aside:
    """A mutant of what is no function: a constant, a field, a template. `source` is the whole file."""

    path: str
    operator: str
    source: bytes


@dataclass
class Changed:
    """`unread` are paths that can't be parsed, `opaque` changes outside of functions that have no mutant."""

    functions: list[Function] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    asides: list[Aside] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)

    def controls(self) -> dict[str, bytes]:
        """Every changed function with a statement in front that does nothing."""
        paths = dict.fromkeys(one.path for one in self.functions)
        return {
            path: edited(self.sources[path], [one.control for one in self.functions if one.path == path])
            for path in paths
        }


def changed_code(candidate: Candidate, seen: Seen | None = None) -> Changed:
    found = Changed()
    known = {(_last(one.name), one.body) for one in functions_of(candidate, candidate.base)}
    for path in code_paths(candidate):
        source = candidate.read(candidate.commit, path)
        if source is None:
            continue
        if not reads(path):
            found.asides.append(Aside(path, "emptied", b""))
            continue
        try:
            functions = functions_in(source, path, seen.types.get(path) if seen else None)
            found.sources[path] = source
            found.functions += [one for one in functions if (_last(one.name), one.body) not in known]
            _outside(candidate, path, source, found)
        except ValueError as err:
            found.unread.append(f"{path} ({err})")
    return found


def _outside(candidate: Candidate, path: str, source: bytes, found: Changed) -> None:
    before = {part.text for part in _parts(candidate.read(candidate.base, path) or b"", path)}
    for part in _parts(source, path):
        if part.text in before:
            continue
        if not part.edits:
            found.opaque.append(f"{path}: {part.name}")
        for edit in part.edits:
            found.asides.append(Aside(path, f"{part.name}: {edit.text or 'gone'}", edited(source, [edit])))


def _parts(source: bytes, path: str) -> list[Part]:
    try:
        return outside(source, path)
    except ValueError:
        return []


def code_paths(candidate: Candidate) -> list[str]:
    """What is judged: neither a test, nor what judges, nor gone."""
    return [
        file.path
        for file in candidate.changed
        if file.status != "D" and not is_test(candidate, file.path) and not is_judge(candidate, file)
    ]


def functions_of(candidate: Candidate, commit: Sha) -> Iterator[Function]:
    """Every function in one commit's versions of the changed files: what was only moved is not new."""
    for file in candidate.changed:
        if reads(file.path) and (source := candidate.read(commit, file.path)) is not None:
            try:
                yield from functions_in(source, file.path)
            except ValueError:
                continue


def _last(name: str) -> str:
    return name.rpartition(".")[2]
