"""The record of one stack: everything that the rest of the tree asks about a language (docs/howto/stack.md).

A record is names, patterns and plain values, so that whoever wants a lock file's name does not load a parser. What
reads or writes code is a `Later`: it is loaded when it is first asked for. What a stack can't do is None; then whatever
depends on it is listed as not verified, by name, or fails closed.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

if TYPE_CHECKING:  # the types of what is loaded later: importing them here would load it now
    from damascus.domain.ports import Candidate, RunnerCall, TestRun
    from damascus.stacks.cases import CaseFinder
    from damascus.stacks.counts import Counts
    from damascus.stacks.coverage import LineCoverage
    from damascus.stacks.inner_tests import InnerTests
    from damascus.stacks.layer import Layer, Style
    from damascus.stacks.mutants import Mutants
    from damascus.stacks.mutants.lines import LineMutant, MutationTool
    from damascus.stacks.own_code import OwnCode
    from damascus.stacks.python.other_setting import OtherSetting
    from damascus.stacks.python.probe.reading import PythonProbe
    from damascus.stacks.reference import Reference
    from damascus.stacks.written import WrittenFile

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Later(Generic[T_co]):
    """`module:name`, loaded when it is called."""

    where: str

    def __call__(self) -> T_co:
        module, _, name = self.where.partition(":")
        return cast(T_co, getattr(import_module(module), name))


# ── in a tree ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Footprint:
    """What a stack's tools read, make and leave in a tree, by name."""

    lock_files: tuple[str, ...] = ()
    """Set-up runs again when one of these is another."""
    lock_patterns: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Folders of other people's packages."""
    package_marks: tuple[str, ...] = ()
    """A folder that has such a file holds other people's packages, whatever its name is."""
    caches: tuple[str, ...] = ()
    """Folders that belong in no commit: they can be made again."""
    remade: tuple[str, ...] = ()
    """Folders that are never laid into a checkout: beside a candidate's sources they could stand for the base's."""
    left: tuple[str, ...] = ()
    """Files that belong in no commit, as lines of a .gitignore."""
    stale: tuple[str, ...] = ()
    """Endings of files that stand for a source as it was when they were made."""
    heavy: tuple[str, ...] = ()
    """Folders that a snapshot leaves out where the project ignores them."""


# ── on a machine ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Fetched:
    """Where packages are fetched to: below HOME where the variable does not say otherwise. `filled` is there once any
    were; `secrets` are files beside them that no confined command may read."""

    variable: str
    below_home: str
    filled: str
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompiledLibrary:
    """What a language ships as source and every run would compile anew: compiled once for this machine, each judged
    command gets a copy of its own. `make` is given the program's path; None: it can't be had."""

    program: str
    variable: str
    make: "Later[Callable[[str], Path | None]]"


@dataclass(frozen=True)
class Toolchain:
    """A stack's programs on this machine: where they lie, and the variables that they go by."""

    programs: tuple[str, ...] = ()
    find_themselves: tuple[str, ...] = ()
    """Variables that name where a compiler or an interpreter lies."""
    homes: Mapping[str, str] = field(default_factory=dict)
    """The same, and where that is below HOME if the variable is not set."""
    chosen: tuple[str, ...] = ()
    """Variables of what its owner chose for a project (a virtual environment): set-up makes its own."""
    below_home: tuple[str, ...] = ()
    """Where they lie when no variable says otherwise. Each holds programs and packages only."""
    fetched: tuple[Fetched, ...] = ()
    registries: tuple[str, ...] = ()
    """Variables that say where packages come from."""
    caches: Mapping[str, str] = field(default_factory=dict)
    """Variables of caches that XDG_CACHE_HOME does not move, and a folder's name for each."""
    judged: Mapping[str, str] = field(default_factory=dict)
    """Set for every judged command; the project's own settings may say otherwise."""
    always: Mapping[str, str] = field(default_factory=dict)
    """The same, whatever the settings say."""
    of_the_run: tuple[str, ...] = ()
    """Variables of caches that no two judged commands may share: others run what is in them."""
    compiled: "CompiledLibrary | None" = None
    versions: tuple[tuple[str, ...], ...] = ()
    """Calls that print which versions are here: a pass that was kept counts for no other."""

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.chosen, *self.find_themselves, *self.homes, *(each.variable for each in self.fetched))


@dataclass(frozen=True)
class Recipe:
    """A compiler. `roots` mark the folder that it checks, `needs` what must lie there beside them. In `words` and
    `environment`, {cache} is a folder of ours: what a compiler left in the checkout would be in the story's diff."""

    tool: str
    suffixes: tuple[str, ...]
    roots: tuple[str, ...]
    words: tuple[str, ...]
    needs: tuple[str, ...] = ()
    local: str = ""
    """The project's own, taken first."""
    environment: Mapping[str, str] = field(default_factory=dict)


# ── its checks ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class BaseFiles:
    """What a commit says of its checks. `prepared` is what its settings say of tests and set-up: where programs lie."""

    listing: Collection[str]
    read: "Callable[[str], bytes | None]"
    prepared: str = ""

    def text(self, name: str) -> str:
        """Nothing where there is no such file."""
        return (self.read(name) or b"").decode("utf-8", errors="replace") if name in self.listing else ""


@dataclass(frozen=True)
class FoundCommand:
    """A command that a commit's own files configure. `kind` is lint, types, build, or the name that the project gave
    it; `tool` tells two of one kind apart."""

    kind: str
    tool: str
    command: str


@dataclass(frozen=True)
class CheckSettings:
    """Files that say what lint, types and build look at and object to, in any folder."""

    own: re.Pattern[str] | None = None
    """They say nothing else: a scope that names one by its path means that."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """They say other things too: by the file's name the keys of checks in it. No keys: the whole file."""


# ── its runners ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Runner:
    """A program that runs tests. `name` is what its reports call it."""

    name: str
    reports: bool = True
    """Does it tell us each of its tests?"""
    leaves_out: tuple[str, ...] = ()
    """Flags with which it leaves tests out that lie in the files it was asked for."""
    selects: "Later[Callable[[RunnerCall, TestRun], bool]] | None" = None
    """Did this call select tests by name? None: by the flags above."""
    covers: "Later[Callable[[RunnerCall, str, str], bool]] | None" = None
    """Did this call, of this command, ask for this file? None: by its words."""
    summary: "Later[Callable[[str], Counts | None]] | None" = None
    """Reads the count that it prints."""
    line: re.Pattern[str] | None = None
    """The lines of that summary."""
    loose: bool = False
    """Others may print what looks like its summary: asked last."""
    names_unloaded: bool = False
    """It says itself what it could not load."""


@dataclass(frozen=True)
class Reporting:
    """Programs that stand between a Test Command and the runners, so that these report to us (stacks/kit.py).

    All files lie in one folder there. `programs` come first in PATH: by name the module that is started as one, of
    which `main(folder, words)` is called. `by_node` is loaded into every node, `by_python` into every Python.
    """

    files: tuple[Path, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    """Started by one of the programs, not found in PATH."""
    by_node: str = ""
    by_python: str = ""


class ReadFile(Protocol):
    """The base's file of this name, as text; "" where there is none."""

    def __call__(self, name: str, /) -> str: ...


@dataclass(frozen=True)
class Habits:
    """How a stack's commands and tests are written, where a gate must know."""

    by_name: "Callable[[str], bool]" = lambda command: False
    """Does the command's text select tests by name?"""
    stops: "Callable[[str, ReadFile], bool]" = lambda command, read: False
    """Does the runner end at the first failure, by a flag or by the base's settings?"""
    to_the_end: "Callable[[str], str]" = str
    """The command so that one failure does not hide what comes after it."""
    alone_in: str = ""
    """The folder where a file of tests alone is run; "": wherever such files lie."""
    explains: "Later[Callable[[Candidate, str, bytes], str]] | None" = None
    """Why the tests of a file with this text need not have been reported; "" if nothing says so."""
    style: "Later[Callable[[str, bytes, str, TestRun], Style]] | None" = None
    """How the project writes what its runner takes for a test, by a file, the command and its green run."""
    owes_skipped: bool = True
    """Does its runner report what is skipped, too?"""
    own_runner: "Callable[[bytes], bool]" = lambda source: True
    """Can only a runner that reports run the tests of this source?"""


# ── the record ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Stack:
    """One language: its record in a package or a file of this folder, and a line in the registry."""

    name: str
    roots: tuple[str, ...]
    """Files at the top of a tree that say that it is a project of this stack."""
    extensions: tuple[str, ...]
    tests: re.Pattern[str]
    """Paths of tests, beside those in a folder for tests."""
    judges: re.Pattern[str]
    """Paths that change how tests and gates judge."""
    command: Callable[[Collection[str]], str]
    """The usual test command of a tree with these files."""
    read: "Callable[[], Callable[[str], WrittenFile]] | None" = None
    """Reads the tests of a source. None: none of them can prove a requirement."""
    written: Callable[[str], str] = str
    """The name in the source of a test as its runner reports it: without parameters, subtests, modules."""
    file_command: "Later[Callable[[Sequence[str], BaseFiles], str]] | None" = None
    """The test command that runs these files alone, in a tree with those; "": nothing tells how."""
    has_command: "Callable[[Collection[str], Callable[[str], bytes | None]], bool]" = lambda listing, read: True
    """Would the usual command run anything?"""
    tests_in_code: bool = False
    """May tests lie in the very files of the code?"""
    tests_beside: bool = True
    """Do tests lie beside the code, so that every folder may hold one?"""
    inner_tests: "Callable[[], InnerTests] | None" = None
    """Tests that stand inside the code, where they can be told apart from it."""
    no_tests: tuple[str, ...] = ()
    """Names of files in folders for tests that hold none."""
    footprint: Footprint = field(default_factory=Footprint)
    toolchain: Toolchain = field(default_factory=Toolchain)
    install: "tuple[tuple[str, Callable[[Collection[str]], str]], ...]" = ()
    """What is printed where a package is missing, and a set-up command that would bring it, by the tree's files."""
    commands: "Callable[[], Callable[[BaseFiles], list[FoundCommand]]] | None" = None
    """Lint, types and build, as the tree's files configure them. None: none is found."""
    unfolds: "Callable[[], Callable[[str, BaseFiles], list[str]]] | None" = None
    """What a command runs in turn, as text: a script of package.json."""
    check_settings: CheckSettings = field(default_factory=CheckSettings)
    compiler: Recipe | None = None
    parsed_here: bool = False
    """Is it compiled in the scanner's process? That runs nothing of it."""
    runners: tuple[Runner, ...] = ()
    named: re.Pattern[str] | None = None
    """A command that starts one of the runners that report: then silence is no pass."""
    counts: re.Pattern[str] | None = None
    """A command whose runner always tells its count: a missing one is a run that was cut off."""
    how: str = ""
    """For people: how the command must start a runner so that it reports."""
    reporting: Reporting = field(default_factory=Reporting)
    habits: Habits = field(default_factory=Habits)
    cases: "Callable[[], CaseFinder] | None" = None
    """From what its runners told to tests of the tree. None: they tell the file of each test."""
    canaries: "Callable[[], Layer] | None" = None
    mutants: "Callable[[], Mutants] | None" = None
    mutation_tool: "Callable[[], MutationTool] | None" = None
    """Makes mutants of single lines. None: none of them can be had."""
    line_mutants: "Callable[[], Callable[[bytes, str, Collection[int]], list[LineMutant]]] | None" = None
    """Operators of ours, where the tool is not there or makes none."""
    probe: "Callable[[], type[PythonProbe]] | None" = None
    """Tells which tests run which functions."""
    other_setting: "Callable[[], type[OtherSetting]] | None" = None
    """Calls tests under their runner and without it."""
    coverage: "Callable[[], LineCoverage] | None" = None
    """Tells the statements of a source and which of them the tests run. None: listed as not measured."""
    awareness: "Callable[[], Callable[[bytes, str], list[Reference]]] | None" = None
    own_code: "Callable[[], OwnCode] | None" = None
    """Finds copies and builds of the project's own sources among what set-up made."""


def paths(*patterns: str) -> re.Pattern[str]:
    """One pattern out of several, each matched against a whole path, in any folder."""
    return re.compile(r"(?:.*/)?(?:" + "|".join(patterns) + ")")


BEFORE, AFTER = r"(?:^|[\s/;&|(])", r"(?=$|[\s;&|)])"


def word(pattern: str) -> str:
    """A pattern of a command's words, not of parts of them."""
    return f"{BEFORE}{pattern}{AFTER}"
