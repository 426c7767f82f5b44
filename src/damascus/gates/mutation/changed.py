"""What a candidate changed outside of tests: functions, each with its mutants, and what lies outside of functions."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from damascus.domain.ids import Sha
from damascus.domain.once import once
from damascus.domain.ports import Candidate
from damascus.evidence.diff_paths import code_paths, is_test
from damascus.stacks import stack_of
from damascus.stacks.mutants import Function, OutsidePart, Values, edited, functions_in, outside, reads
from damascus.stacks.python.by_name import bindings, by_name, called_by, classes, is_module
from damascus.stacks.python.probe.reading import ProbeReport


@dataclass(frozen=True)
class Aside:
    """A mutant of what is no function: a constant, a field, a template. `source` is the whole file."""

    path: str
    operator: str
    source: bytes


@dataclass
class Changed:
    """`unread` are paths that can't be parsed, `opaque` changes outside of functions that have no mutant, `hidden`
    those that may hold functions of which none is known."""

    functions: list[Function] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    asides: list[Aside] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    values: Values = field(default_factory=Values.drawn)

    def controls(self) -> dict[str, bytes]:
        """Every changed function with a statement in front, and the words of its mutants, that do nothing."""
        paths = dict.fromkeys(one.path for one in self.functions)
        return {
            path: edited(
                self.sources[path],
                [edit for one in self.functions if one.path == path for edit in (one.control, *one.also_control)],
                path,
            )
            for path in paths
        }


def changed_code(candidate: Candidate, seen: ProbeReport | None = None, values: Values | None = None) -> Changed:
    """The same values, where they are given: one candidate's log tells of one set."""
    found = Changed(values=values or Values.drawn(candidate.tree))
    known = {(_last(one.name), one.body) for one in functions_of(candidate, candidate.base)}
    calls = _Calls(candidate)
    for path in code_paths(candidate):
        source = candidate.read(candidate.commit, path)
        if source is None:
            continue
        if not reads(path):
            if stack := stack_of(path):
                found.unread.append(f"{path} (no mutants are known for {stack.name})")
            found.asides.append(Aside(path, "emptied", b""))
            continue
        try:
            functions = functions_in(source, path, seen.types.get(path) if seen else None, found.values)
            if path.endswith(".py"):
                functions += calls.by_name(path, source, functions, found.values)
            found.sources[path] = source
            found.functions += [one for one in functions if one.by_name or (_last(one.name), one.body) not in known]
            _outside(candidate, path, source, found)
        except ValueError as err:
            found.unread.append(f"{path} ({err})")
    return found


@dataclass
class _Calls:
    """What the story's tests call, by module and name."""

    candidate: Candidate

    @once
    def all(self) -> set[tuple[str, str]]:
        tests = [file.path for file in self.candidate.changed if file.path.endswith(".py") and file.status != "D"]
        sources = [self.candidate.read(self.candidate.commit, path) for path in tests if is_test(self.candidate, path)]
        return {call for source in sources if source is not None for call in called_by(source)}

    def by_name(self, path: str, source: bytes, known: list[Function], values: Values) -> list[Function]:
        """Of what they call here, the rest: neither a function that has mutants nor a class, and not as it was."""
        names = {name for module, name in self.all if is_module(module, path)}
        names -= {one.name for one in known} | classes(source)
        if not names:
            return []
        was, now = self._before(path), bindings(source)
        return by_name(source, path, [one for one in names if one not in now or now[one][1] != was.get(one)], values)

    def _before(self, path: str) -> dict[str, str]:
        try:
            found = bindings(self.candidate.read(self.candidate.base, path) or b"")
        except ValueError:
            return {}
        return {name: says for name, (_, says) in found.items()}


def _outside(candidate: Candidate, path: str, source: bytes, found: Changed) -> None:
    before = {part.text for part in _parts(candidate.read(candidate.base, path) or b"", path, found.values)}
    for part in _parts(source, path, found.values):
        if part.text in before:
            continue
        if part.hides:
            found.hidden.append(f"{path}:{part.line} {part.name}")
        if not part.edits:
            found.opaque.append(f"{path}: {part.name}")
        for edit in part.edits:
            found.asides.append(Aside(path, f"{part.name}: {edit.text or 'gone'}", edited(source, [edit], path)))


def _parts(source: bytes, path: str, values: Values) -> list[OutsidePart]:
    try:
        return outside(source, path, values)
    except ValueError:
        return []


def functions_of(candidate: Candidate, commit: Sha, values: Values | None = None) -> Iterator[Function]:
    """Every function in one commit's versions of the changed files: what was only moved is not new."""
    for file in candidate.changed:
        if reads(file.path) and (source := candidate.read(commit, file.path)) is not None:
            try:
                yield from functions_in(source, file.path, None, values)
            except ValueError:
                continue


def _last(name: str) -> str:
    return name.rpartition(".")[2]
