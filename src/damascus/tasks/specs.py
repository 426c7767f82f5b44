"""A task as the spec of its story: everything that is known of it, the same bytes for the same task.

Whatever words a person wrote, they are values here: no title is YAML, no behaviour is a heading.
"""

import json
import re
from collections.abc import Iterator, Sequence

from damascus.domain.scope import parse_scope
from damascus.domain.spec import TAG, Requirement, Spec
from damascus.domain.tasks import CONTRACT_ID, TestContract, contract_table
from damascus.domain.verdict import Kind
from damascus.tasks.task import Task

DOCUMENT = re.compile(
    r"(?:.*/)?(?:docs?/.*|[^/]*\.(?:md|rst|adoc|txt)|(?:README|CHANGELOG|LICENSE)[^/]*)", re.IGNORECASE
)
WORDS = re.compile(r"\w+")
REFERRING = re.compile(
    r"see|cf|as|in|by|per|and|also|with|to|refers?|covered|tested|proved|proven|checked|the|of|rows?|lines?|tests?|"
    r"contracts?|pass|passes"
)
"""Words that only point at a line of the contract."""


def spec_of(task: Task, graph_path: str, test_command: str) -> bytes:
    """Complete: `parse_spec` takes it as it is."""
    front = "".join(f"{key}: {value}\n" for key, value in _front(task, graph_path))
    return f"---\n{front}---\n{_body(task, graph_path, test_command)}".encode()


def parsed(task: Task, graph_path: str, test_command: str) -> Spec:
    """What `parse_spec` makes of it, without reading YAML: thousands of tasks are queued at once."""
    return Spec(
        story=task.id,
        title=_one_line(task.title),
        scope=parse_scope(_scope(task)),
        tdd_plan=_plan(task).strip(),
        test_command=test_command,
        requirements=tuple(_requirements(task)),
        depends_on=task.depends_on,
        kind=kind_of(task),
        domain=_one_line(task.domain).lower(),
        task_type=task.type,
        platform=_one_line(task.platform),
        graph=_one_line(graph_path),
        contracts=task.contracts,
        contract_exempt=_one_line(task.exempt),
        gate_commands=task.gate_commands,
        body=_body(task, graph_path, test_command),
    )


def _body(task: Task, graph_path: str, test_command: str) -> str:
    needs = "".join(f"- {need.id} ({need.tag}): {need.text}\n" for need in _requirements(task))
    parts = [
        f"\nTask {task.id} of {graph_path}: {_one_line(task.title)}\n",
        f"## Requirements\n\n{needs}",
        f"## TDD Plan\n\n{_plan(task)}",
        f"## Test Command\n\n```sh\n{test_command}\n```\n",
    ]
    if task.contracts:
        parts.append(f"## Test Contract\n\n{contract_table(task.contracts)}")
    if task.gate_commands:
        parts.append("## Gate Commands\n\n```sh\n" + "".join(f"{each}\n" for each in task.gate_commands) + "```\n")
    return "\n".join(parts)


def kind_of(task: Task) -> Kind:
    """Without a contract nothing is seen red: words, or code that goes on doing what it did."""
    if task.contracts:
        return Kind.FEATURE
    return Kind.DOCS if all(DOCUMENT.fullmatch(path) for path in task.output_files) else Kind.REFACTOR


# ── front matter ──────────────────────────────────────────────────────────────────────────────────────


def _front(task: Task, graph_path: str) -> Iterator[tuple[str, str]]:
    yield "story", task.id
    yield "title", in_yaml(task.title)
    yield "kind", kind_of(task).value
    yield "task_type", task.type.value
    texts = {"platform": task.platform, "domain": task.domain, "graph": graph_path, "contract_exempt": task.exempt}
    yield from ((key, in_yaml(text)) for key, text in texts.items() if text)
    if task.depends_on:
        yield "depends_on", _listed(task.depends_on)
    yield "scope", _listed(_scope(task))


def _scope(task: Task) -> list[str]:
    return list(dict.fromkeys([*task.output_files, *(one.file for one in task.contracts)]))


def _listed(values: Sequence[str]) -> str:
    return "".join(f"\n  - {in_yaml(value)}" for value in values)


def in_yaml(text: str) -> str:
    """A double-quoted scalar. What YAML would fold, refuse or not show is written as an escape."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


# ── what it must do ───────────────────────────────────────────────────────────────────────────────────


def _requirements(task: Task) -> Iterator[Requirement]:
    """TC-k is REQ-k, and due whatever its words look like; criteria that repeat none go on counting."""
    for one in task.contracts:
        yield Requirement(one.requirement, _untagged(one.behaviour))
    last = max((int(one.requirement.partition("-")[2]) for one in task.contracts), default=0)
    further = [text for text in map(_one_line, task.criteria) if text and not _repeats(text, task.contracts)]
    for number, text in enumerate(further, last + 1):
        yield Requirement(f"REQ-{number:03d}", _untagged(text), next(iter(TAG.findall(text)), "MVP"))


def _untagged(text: str) -> str:
    """A tag stands before the words, once."""
    return TAG.sub("", _one_line(text)).strip() or "as its tag says"


def _repeats(criterion: str, contracts: Sequence[TestContract]) -> bool:
    """It only points at lines of the contract, or repeats the words of one, in their order: it says nothing further."""
    ids = CONTRACT_ID.findall(criterion.upper())
    named = [one for one in contracts if one.id in ids]
    left = _words(CONTRACT_ID.sub(" ", criterion.upper()) if named else criterion)
    if named and all(map(REFERRING.fullmatch, left)):
        return True
    return any(_runs_in(left, _words(one.behaviour)) for one in named or contracts)


def _runs_in(words: Sequence[str], text: Sequence[str]) -> bool:
    return f" {' '.join(words)} " in f" {' '.join(text)} "


def _words(text: str) -> list[str]:
    return WORDS.findall(text.lower())


def _plan(task: Task) -> str:
    if not task.contracts:
        return "The tests that are there stay green; it needs no test contract, by its person's reason.\n"
    by_file: dict[str, list[TestContract]] = {}
    for one in task.contracts:
        by_file.setdefault(one.file, []).append(one)
    lines = [
        "Tests first, each red before its code exists. Each names its requirement (its name, a marker, a docstring):\n"
    ]
    for file, contracts in by_file.items():
        told = "; ".join(f"{one.id} by {one.requirement}, {one.kind}" for one in contracts)
        lines.append(f"- {_one_line(file)}: {told}")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
