"""Which files of a tree a gate command runs, by its text: what judges the work must not be the work's own.

A program, an interpreter's script, a module of Python's `-m`, each from every folder that the command goes to (`cd`) or
looks in (`PYTHONPATH`, `PATH`). Where a word could be several files, all of them count.
"""

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from damascus.domain.ports import Candidate
from damascus.domain.scope import glob_regex
from damascus.evidence.gate_commands import judging_texts
from damascus.stacks import stack_of

ASSIGNED = re.compile(r"\w+=")
SEARCHED = re.compile(r"(?:PYTHON)?PATH=(.*)", re.DOTALL)
BEFORE = {
    *("!", "if", "then", "else", "elif", "while", "until", "do", "{", "time", "exec", "command", "nohup", "nice"),
    *("env", "timeout", "xargs", "stdbuf", "setsid", "sudo", "builtin", "eval"),
}
"""Words before a program."""
RUNS = {"uv", "poetry", "pipenv", "hatch", "pdm", "rye"}
"""What follows their `run` is the program."""
SHELL = re.compile(r"(?:ba|da|z|k)?sh|\.|source")
PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
OTHERS = re.compile(r"node|ruby|perl|deno|bun|php|tsx|ts-node")
NUMBER = re.compile(r"\d[\d.]*[smhd]?")
HERE = re.compile(r"(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)/")
ENDINGS = ("", ".js", ".cjs", ".mjs", ".ts", "/index.js", "/__main__.py")
DEPTH = 3


def run_by(command: str, path: str) -> bool:
    """Does this command run this file of the tree?"""
    return _is_one(path, programs(command))


def brought_judges(candidate: Candidate) -> set[str]:
    """Changed files that a gate command runs, the project's or the story's own, new ones too. A test that is named like
    one is compared as a test."""
    known = {one for command in judging_texts(candidate) for one in programs(command)}
    return {file.path for file in candidate.changed if _is_one(file.path, known) and not _is_test(candidate, file.path)}


def _is_one(path: str, known: Collection[str]) -> bool:
    """A link in the place of a folder counts too, and what lies in a folder that is run as a whole."""
    folder = posixpath.dirname(path) or "."
    return path in known or folder in known or any(one.startswith(f"{path}/") for one in known)


def _is_test(candidate: Candidate, path: str) -> bool:
    stack = stack_of(path)
    own = any(glob_regex(pattern).fullmatch(path) for pattern in candidate.config.test.patterns)
    return own or (stack is not None and stack.tests.fullmatch(path) is not None)


def programs(command: str) -> set[str]:
    """Every path, relative to the repository, that could be a file that it runs."""
    found = _Programs()
    found.read(command, 0)
    return {posixpath.normpath(posixpath.join(folder, file)) for file in found.files for folder in ("", *found.folders)}


@dataclass
class _Programs:
    """What a command was seen to run, and the folders from which it may do so."""

    files: set[str] = field(default_factory=set)
    folders: list[str] = field(default_factory=list)
    here: str = ""

    def read(self, command: str, depth: int) -> None:
        for words in _parts(command):
            for word in words:
                if searched := SEARCHED.fullmatch(word):
                    self.folders += [self._from(each) for each in searched[1].split(":") if each]
            self._part(_without_what_is_before(words), depth)

    def _part(self, words: list[str], depth: int) -> None:
        if not words:
            return
        name, rest = posixpath.basename(words[0]), words[1:]
        if name in ("cd", "pushd"):
            self._goes_to(next((word for word in rest if not word.startswith("-")), ""))
        elif SHELL.fullmatch(name):
            self._of_shell(rest, depth)
        elif PYTHON.fullmatch(name):
            self._of_python(rest)
        elif OTHERS.fullmatch(name):
            self._script(rest)
        elif name == "go" and "run" in rest:
            self._script(rest[rest.index("run") + 1 :])
        else:
            self.files.add(HERE.sub("", words[0]))

    def _goes_to(self, folder: str) -> None:
        """A subshell's end is not looked for: whatever it ran may be run from any folder that was named."""
        self.here = self._from(folder)
        self.folders += [self.here, HERE.sub("", folder)]

    def _from(self, folder: str) -> str:
        return posixpath.normpath(posixpath.join(self.here, HERE.sub("", folder)))

    def _of_shell(self, rest: list[str], depth: int) -> None:
        if depth < DEPTH and any(word.startswith("-") and "c" in word for word in rest[:-1]):
            for word in (word for word in rest if not word.startswith("-")):
                self.read(word, depth + 1)
        else:
            self._script(rest)

    def _of_python(self, rest: list[str]) -> None:
        modules = [after for word, after in pairwise(rest) if re.fullmatch(r"-[a-zA-Z]*m", word)]
        modules += [word[2:] for word in rest if re.fullmatch(r"-m[\w.]+", word)]
        for module in modules:
            self.files |= set(_module_files(module))
        if not modules:
            self._script(rest)

    def _script(self, rest: list[str]) -> None:
        """Its name may be the second word after an option that has a value."""
        plain = [HERE.sub("", word) for word in rest if not word.startswith("-")]
        wanted = plain[: 1 if rest and rest[0] in plain else 2]
        self.files |= {f"{word}{ending}" for word in wanted for ending in ENDINGS}


def _module_files(module: str) -> Iterator[str]:
    parts = module.split(".")
    yield from (f"{'/'.join(parts[:n])}/__init__.py" for n in range(1, len(parts) + 1))
    whole = "/".join(parts)
    yield from (f"{whole}.py", f"{whole}/__main__.py")


def _without_what_is_before(words: list[str]) -> list[str]:
    """`env -i A=1 timeout 5 uv run ./lint.sh` runs ./lint.sh."""
    rest = list(words)
    while rest:
        name = posixpath.basename(rest[0])
        if name in RUNS and "run" in rest[1:]:
            rest = rest[rest.index("run") + 1 :]
        elif name in BEFORE or ASSIGNED.match(rest[0]):
            rest = rest[1:]
        else:
            return rest
        while rest and (rest[0].startswith("-") or NUMBER.fullmatch(rest[0])):
            rest = rest[1:]
    return []


def _parts(command: str) -> Iterator[list[str]]:
    """The words of each simple command, without quotes and without the files of redirections."""
    words: list[str] = []
    skipped = False
    for word in _words(command.replace("\\\n", " ").replace("\n", " ; ")):
        if word and not word.strip("();<>|&"):
            skipped = "<" in word or ">" in word
            if not skipped:
                yield words
                words = []
        elif not skipped:
            words.append(word)
        else:
            skipped = False
    yield words


def _words(command: str) -> list[str]:
    found = shlex.shlex(command, posix=True, punctuation_chars=True)
    found.whitespace_split, found.commenters = True, ""
    try:
        return list(found)
    except ValueError:  # a quote without an end: read as if there were none
        return re.findall(r"[();<>|&]+|[^\s();<>|&'\"]+", command)
