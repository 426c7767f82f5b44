"""Which patterns of the library fit a task, in an order that nothing else decides, and whether a change shows one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from damascus.domain.spec import Spec
from damascus.domain.tasks import TaskType
from damascus.tasks.patterns import CODE, Library, Pattern, singular, words

OFFERED = 5
"""An agent is handed so many at most: the best."""
DOMAIN, KEYWORD, STACK, SAME_WORD, MOST_SAME = 4, 3, 2, 1, 3
LEAST = 3
"""Fewer points than this match nothing: a shared language is no reason to be told of an entry."""
ALIASES = {
    "authentication": "auth", "authorization": "auth", "authorisation": "auth", "login": "auth",
    "data": "database", "db": "database", "sql": "database", "databases": "database",
    "payments": "payment", "billing": "payment",
}  # fmt: skip
OF_TYPES = {TaskType.AUTH: "auth", TaskType.DATA: "database"}
LANGUAGES = {
    "python": frozenset({"python", "django", "flask", "fastapi", "sqlalchemy"}),
    "node": frozenset(
        {"node", "nodejs", "node.js", "typescript", "javascript", "next.js", "nextjs", "react", "prisma"}
    ),
    "go": frozenset({"go", "golang"}),
    "rust": frozenset({"rust", "cargo", "tokio"}),
}
"""By the names of our stacks: words by which an entry says that it is of this one, or of another."""


@dataclass(frozen=True)
class TaskWords:
    """What a task is about, as far as patterns are concerned."""

    domains: frozenset[str] = frozenset()
    stacks: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Match:
    """A pattern, and how well it fits."""

    pattern: Pattern
    points: int


def domains_of(spec: Spec) -> frozenset[str]:
    """By the task's own word and by its type, each under one name: `payments` is payment, a task of data database."""
    told = {same(word) for word in re.split(r"[,;/\s]+", spec.domain.lower()) if word}
    return frozenset(told | ({OF_TYPES[spec.task_type]} if spec.task_type in OF_TYPES else set()))


def same(domain: str) -> str:
    return ALIASES.get(domain.strip().lower(), domain.strip().lower())


def is_task(spec: Spec) -> bool:
    """Plain stories have neither domain, type nor graph: for them nothing is looked up."""
    return bool(spec.domain or spec.task_type or spec.graph)


def wanted_by(spec: Spec, stacks: Iterable[str]) -> TaskWords:
    said = [spec.title, *(need.text for need in spec.requirements)]
    platform = words(spec.platform)
    return TaskWords(domains_of(spec), frozenset({*stacks, *platform}), frozenset(words("\n".join(said))))


def search(library: Library, wanted: TaskWords) -> list[Match]:
    """The best first; of equal ones by their ids."""
    found = (Match(one, _points(one, wanted)) for one in library.patterns)
    return sorted((one for one in found if one.points >= LEAST), key=lambda one: (-one.points, one.pattern.id))


def _points(one: Pattern, wanted: TaskWords) -> int:
    own = {same(word) for word in re.split(r"[,;/\s]+", one.told("domain").lower()) if word}
    keywords = [words(each) for each in one.keywords]
    about = words(" ".join((one.title, one.told("context"), one.told("reuse_signal"))))
    heard = wanted.words | wanted.domains
    points = DOMAIN if wanted.domains & own else 0
    points += KEYWORD * sum(1 for each in keywords if each and each <= heard)
    points += SAME_WORD * min(MOST_SAME, len(about & wanted.words))
    return points + _of_stack(one, wanted) if points else 0


def _of_stack(one: Pattern, wanted: TaskWords) -> int:
    """Less for an entry that names another language than the project's."""
    told = words(one.told("stack"))
    here = {*wanted.stacks, *(word for name in wanted.stacks for word in LANGUAGES.get(name, ()))}
    if told & here:
        return STACK
    others = {word for known in LANGUAGES.values() for word in known}
    return -STACK if told & others and wanted.stacks else 0


# ── does a change show it? ────────────────────────────────────────────────────────────────────────────


def signs(one: Pattern) -> list[str]:
    """What its use leaves in code: whatever stands in backticks in `reuse_signal` or `pattern`, else its keywords."""
    quoted = CODE.findall(f"{one.told('reuse_signal')}\n{one.told('pattern')}")
    return [sign.strip().lower() for sign in quoted] or list(one.keywords)


def shows(one: Pattern, added: Sequence[str], paths: Sequence[str]) -> bool:
    """One of its signs stands in a line that was added, or in the path of a changed file."""
    text = "\n".join((*added, *paths)).lower()
    known = words_in(text)
    return any(sign in text if _is_code(sign) else words(sign) <= known for sign in signs(one) if words(sign))


def _is_code(sign: str) -> bool:
    return re.search(r"[^a-z0-9 ]", sign) is not None


def words_in(text: str) -> set[str]:
    """Also the parts of names: `session_store` and `sessionStore/token.py` hold session, store and token."""
    return {singular(word) for word in re.findall(r"[a-z0-9]+", text)}
