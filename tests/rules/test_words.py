"""One meaning per word: no two classes of one name, and a word of the domain is named by its member."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from damascus.domain.described import Described
from damascus.domain.events import EventKind
from damascus.domain.failures import FailureClass, FailureKind
from damascus.domain.graph import MainState
from damascus.domain.merge_queue import EntryState
from damascus.domain.ports import GateLane, GateName
from damascus.domain.recovery import QuestionKind
from damascus.domain.roles import Role, Tier, Writable
from damascus.domain.verdict import Milestone, Phase, Substate, Verdict
from damascus.domain.waits import ItemState, WaitKind
from damascus.engine.services import ServiceName
from tests.rules.tree import document, sources

TYPED = {
    "phase": Phase,
    "resume_phase": Phase,
    "blocker_phase": Phase,
    "wait_kind": WaitKind,
    "last_verdict": Verdict,
    "milestone": Milestone,
    "substate": Substate,
    "writes": Writable,
    "tier": Tier,
    "gate": GateName,
    "lane": GateLane,
    "service": ServiceName,
    "severity": FailureClass,
}
"""Columns and fields that hold a word of the domain, under names that mean nothing else."""
COLUMNS: dict[tuple[str, str], type[Described]] = {
    ("work_items", "phase"): Phase,
    ("work_items", "state"): ItemState,
    ("work_items", "wait_kind"): WaitKind,
    ("work_items", "last_verdict"): Verdict,
    ("events_outbox", "kind"): EventKind,
    ("human_issues", "kind"): QuestionKind,
    ("queue_entries", "state"): EntryState,
    ("repos", "ci_state"): MainState,
    ("worker_records", "milestone"): Milestone,
    ("worker_records", "substate"): Substate,
}
FIRST = {"Wait": "wait_kind", "Service": "service", "_of_each": "service"}
"""What the first argument of these calls is."""


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_glossary_has_each_word_once() -> None:
    heads = re.findall(r"^\| (\*\*.+?\*\*(?: / \*\*.+?\*\*)*) \|", document("docs/glossary.md"), re.MULTILINE)
    words = [word.strip() for head in heads for word in re.split(r", | / ", head.replace("**", ""))]
    assert sorted({word for word in words if words.count(word) > 1}) == [] and len(words) > 40


def test_a_helper_says_what_it_returns() -> None:
    """`_told` meant seventeen things."""
    found = {name for name, text in sources().items() if "def _told(" in text}
    assert found == set()


@pytest.mark.req("D11")
def test_an_event_is_named_by_its_member() -> None:
    found = [
        f"{name}:{node.lineno} {node.value}"
        for name, text in sources().items()
        if name != "domain/events.py"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in set(EventKind)
    ]
    assert found == []


PLAIN = {str(Verdict.REGRESSION)}
"""A word of English as well: what an event or a change says of itself."""


@pytest.mark.req("F3", "T1")
@pytest.mark.parametrize(("words", "home"), [(Role, "domain/roles.py"), (FailureKind, "domain/failures.py")])
def test_a_role_and_a_kind_of_failure_are_named_by_their_members(words: type[Described], home: str) -> None:
    found = [
        f"{name}:{node.lineno} {node.value}"
        for name, text in sources().items()
        if name not in (home, "domain/verdict.py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in set(words) - PLAIN
    ]
    assert found == []


def name_of(node: ast.expr) -> str:
    match node:
        case (
            ast.Attribute(attr=str(name)) | ast.Name(id=str(name)) | ast.Subscript(slice=ast.Constant(value=str(name)))
        ):
            return name
    return ""


def plain_words(nodes: list[ast.expr] | list[ast.pattern]) -> set[str]:
    inside = [each for node in nodes for each in ast.walk(node)]
    return {node.value for node in inside if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def literals(text: str) -> Iterator[tuple[str, set[str]]]:
    """What is compared, matched or given as one of the typed names, where it is written as a plain string."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            yield name_of(node.left), plain_words(node.comparators)
        elif isinstance(node, ast.Match):
            yield name_of(node.subject), plain_words([case.pattern for case in node.cases])
        elif isinstance(node, ast.keyword):
            yield node.arg or "", plain_words([node.value])
        elif isinstance(node, ast.Call) and name_of(node.func) in FIRST and node.args:
            yield FIRST[name_of(node.func)], plain_words(node.args[:1])


def test_a_word_of_the_domain_is_named_by_its_member() -> None:
    found = [
        f"{name}: {field} {sorted(words)}"
        for name, text in sources().items()
        for field, given in literals(text)
        if field in TYPED and (words := given & set(TYPED[field]))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'row.wait_kind == "ci"',
        'row["wait_kind"] in ("ci", "mirror")',
        'Wait("ci", key)',
        'Transition(wait_kind="backoff")',
        'match row.wait_kind:\n    case "scope" | "behind":\n        pass',
    ],
)
def test_the_rule_sees_every_way_to_write_a_word(text: str) -> None:
    assert any(field == "wait_kind" and words & set(WaitKind) for field, words in literals(text))


def words_of_the_database() -> Iterator[tuple[tuple[str, str], set[str]]]:
    """The lists that a CHECK of the schema allows, by table and column."""
    schema = sources("*.sql")["store/schema.sql"]
    for table, body in re.findall(r"^CREATE TABLE public\.(\w+) \((.*?)^\);", schema, re.MULTILINE | re.DOTALL):
        for column, allowed in re.findall(r"\((\w+) = ANY \(ARRAY\[(.*?)\]\)", body):
            yield (table, column), set(re.findall(r"'([^']*)'", allowed))


def test_what_the_database_allows_is_what_the_domain_lists() -> None:
    allowed = dict(words_of_the_database())
    assert {column for column in allowed if column in COLUMNS}, "the schema is read"
    assert {column: words for column, words in allowed.items() if words != set(COLUMNS.get(column, words))} == {}


def test_every_wait_that_sql_names_is_listed() -> None:
    named = {kind for text in sources("*.sql").values() for kind in re.findall(r"\bwait_kind (?:=|<>) '(\w+)'", text)}
    assert named and named <= set(WaitKind)


def test_every_wait_of_the_list_is_written_somewhere() -> None:
    parts = [text for name, text in sources().items() if name.startswith(("engine/", "domain/policy.py"))]
    members = {kind for text in parts for kind in re.findall(r"\bWaitKind\.([A-Z_]+)", text)}
    in_sql = {kind for text in sources("*.sql").values() for kind in re.findall(r"SET[^;]*?wait_kind = '(\w+)'", text)}
    assert {kind.value for kind in WaitKind if kind.name not in members} - in_sql == set()
