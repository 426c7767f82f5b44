"""The demo's repository, its five stories and what the scripted agent writes for them."""

import sys

from damascus.domain.roles import Role
from damascus.domain.security_domains import SecurityDomain


def _runner(modules: str) -> str:
    """The standard library's: whoever installed Damascus needs nothing else to see each test counted."""
    return f"{sys.executable} -m unittest {modules}"


CONFIG = f"""\
[project]
name = "textkit"

[test]
command = "{_runner("discover -v")}"

[limits]
disk_reserve_mb = 0
load_per_core = 0.0
"""

REPOSITORY: dict[str, str] = {
    "damascus.toml": CONFIG,
    ".gitignore": "__pycache__/\n",
    "README.md": "# textkit\n\nSmall functions on text and numbers.\n",
    "textkit/__init__.py": "",
    "textkit/slug.py": (
        "import re\n\n\ndef slugify(text):\n"
        '    words = re.findall(r"[a-z?!]+", text.lower())\n    return "-".join(words)\n'
    ),
    "textkit/rounding.py": "def round_price(value):\n    return int(value + 0.5)\n",
    "tests/__init__.py": "",
    "tests/test_slug.py": (
        "import unittest\n\nfrom textkit.slug import slugify\n\n\n"
        "class Slug(unittest.TestCase):\n"
        "    def test_words(self):\n"
        '        self.assertEqual(slugify("Hello World"), "hello-world")\n'
    ),
}

PERSONS_COMMIT = {
    "textkit/rounding.py": 'def round_price(value):\n    """Prices are whole."""\n    return int(float(value) + 0.5)\n'
}
"""What a person commits to main while D-3 is at work on the same line."""


def _spec(
    story: str, title: str, module: str, requirements: dict[str, str], files: list[str], *, more: str = ""
) -> str:
    listed = "\n".join(f"- {key}: {text}" for key, text in requirements.items())
    scope = "\n".join(f"  - {path}" for path in (*files, f"tests/{module}.py"))
    return (
        f"---\nstory: {story}\ntitle: {title}\n{more}scope:\n{scope}\n---\n\n## Requirements\n\n{listed}\n\n"
        f"## TDD Plan\n\nOne test per requirement in tests/{module}.py, red first.\n\n"
        f"## Test Command\n\n```sh\n{_runner('discover -v' if more else f'-v tests.{module}')}\n```\n"
    )


SPECS: dict[str, str] = {
    "D-1": _spec(
        "D-1", "slugify keeps digits", "test_slug",
        {"REQ-001": "digits stay", "REQ-002": "punctuation goes", "REQ-003": "is_slug knows a slug from other text"},
        ["textkit/slug.py", "tests/test_slug_more.py"], more="flow: full\n",
    ),
    "D-2": _spec(
        "D-2", "parse durations", "test_durations",
        {"REQ-001": "90s is 90", "REQ-002": "2m is 120", "REQ-003": "1h30m is 5400"}, ["textkit/durations.py"],
    ),
    "D-3": _spec(
        "D-3", "round half to even", "test_rounding",
        {"REQ-001": "2.5 is 2", "REQ-002": "4.5 is 4"}, ["textkit/rounding.py"],
    ),
    "D-4": _spec(
        "D-4", "titles in two languages", "test_titles",
        {"REQ-001": "English capitals", "REQ-002": "German capitals"}, ["textkit/titles.py"],
    ),
    "D-5": _spec(
        "D-5", "durations in words", "test_words",
        {"REQ-001": "90 is 1 minute 30 seconds", "REQ-002": "60 is 1 minute"}, ["textkit/durations.py"],
    ),
}  # fmt: skip


def _tests(module: str, name: str, cases: list[tuple[str, str, str]], keep: str = "") -> str:
    lines = [
        "import unittest",
        "",
        f"from textkit.{module} import {name}",
        "",
        "",
        f"class {name.title()}(unittest.TestCase):",
    ]
    lines += [keep] if keep else []
    for requirement, given, wanted in cases:
        lines += [f"    def test_{requirement}(self):", f"        self.assertEqual({name}({given}), {wanted})", ""]
    return "\n".join(lines).rstrip() + "\n"


SLUG = (
    "import re\n\n\ndef slugify(text):\n"
    '    words = re.findall(r"[a-z0-9]+", text.lower())\n    return "-".join(words)\n\n\n'
    "def is_slug(text):\n"
    '    return re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text) is not None\n'
)
SLUG_KEPT = '    def test_words(self):\n        self.assertEqual(slugify("Hello World"), "hello-world")\n'
SLUG_DIGITS = [("REQ_001_digits", '"Route 66"', '"route-66"')]
SLUG_TESTS = _tests("slug", "slugify", SLUG_DIGITS, SLUG_KEPT)
SLUG_MORE_TESTS = (
    _tests("slug", "slugify", [*SLUG_DIGITS, ("REQ_002_punctuation", '"What? Now!"', '"what-now"')], SLUG_KEPT).replace(
        "import slugify", "import is_slug, slugify"
    )
    + '\n    def test_REQ_003_slug(self):\n        self.assertTrue(is_slug("route-66"))\n'
)
SLUG_LAST_TESTS = (
    "import unittest\n\nfrom textkit.slug import is_slug\n\n\nclass NoSlug(unittest.TestCase):\n"
    '    def test_REQ_003_no_slug(self):\n        self.assertFalse(is_slug("Route 66"))\n'
)
"""What the fixer adds: with `is_slug` saying yes to everything, all tests before stay green."""
DURATIONS_WRONG = (
    'import re\n\nUNITS = {"s": 1, "m": 60, "h": 60}\n\n\ndef parse(text):\n'
    '    return sum(int(n) * UNITS[unit] for n, unit in re.findall(r"(\\d+)([smh])", text))\n'
)
DURATIONS = DURATIONS_WRONG.replace('"h": 60', '"h": 3600')
DURATIONS_TESTS = _tests(
    "durations", "parse",
    [("REQ_001_seconds", '"90s"', "90"), ("REQ_002_minutes", '"2m"', "120"), ("REQ_003_mixed", '"1h30m"', "5400")],
)  # fmt: skip
ROUNDING = "def round_price(value):\n    return round(value)\n"
ROUNDING_MERGED = 'def round_price(value):\n    """Prices are whole."""\n    return round(float(value))\n'
ROUNDING_TESTS = _tests("rounding", "round_price", [("REQ_001_two", "2.5", "2"), ("REQ_002_four", "4.5", "4")])
TITLES = (
    'SMALL = {"en": {"of", "and", "the"}, "de": {"und", "der", "die", "das", "von"}}\n\n\n'
    "def title(text, language):\n"
    "    words = text.split()\n    small = SMALL[language]\n"
    '    return " ".join(w if w in small and n else w.capitalize() for n, w in enumerate(words))\n'
)
TITLES_TESTS = _tests(
    "titles", "title",
    [
        ("REQ_001_english", '"the lord of the rings", "en"', '"The Lord of the Rings"'),
        ("REQ_002_german", '"herr von und zu", "de"', '"Herr von und Zu"'),
    ],
)  # fmt: skip
WORDS = DURATIONS + (
    "\n\ndef words(seconds):\n"
    '    parts = [(seconds // 60, "minute"), (seconds % 60, "second")]\n'
    '    return " ".join(f"{n} {name}" + ("s" if n != 1 else "") for n, name in parts if n)\n'
)
WORDS_TESTS = _tests(
    "durations", "words",
    [("REQ_001_both", "90", '"1 minute 30 seconds"'), ("REQ_002_minute", "60", '"1 minute"')],
)  # fmt: skip

SAFE = dict.fromkeys(SecurityDomain, "pure functions of a text: not concerned")
SLUG_CONCERNS = [{"what": "no test removes punctuation", "requirement": "REQ-002", "severity": "major"}]


def _turn(role: Role, write: dict[str, str] | None = None, **report: object) -> dict[str, object]:
    """What one role does in the story that goes through every step of the full flow."""
    return {"only_role": role.value, "write": write or {}, "report": report}


SCRIPT: dict[str, list[dict[str, object]]] = {
    "D-1": [
        _turn(Role.CONTEXT_LOADER, summary="slugify is in textkit/slug.py; nothing else calls it."),
        _turn(Role.CLARIFIER, summary="Digits are 0 to 9: other scripts' digits are left to a later story."),
        _turn(Role.TEST_AUTHOR, {"tests/test_slug.py": SLUG_TESTS}, changed=["one test"], weak=["no punctuation"]),
        _turn(Role.TEST_AUTHOR, {"tests/test_slug.py": SLUG_MORE_TESTS}, changed=["a test for each requirement"]),
        _turn(Role.TEST_CRITIC, status="UNVERIFIED", can_further_iteration_help=True, concerns=SLUG_CONCERNS),
        _turn(Role.TEST_CRITIC, status="VERIFIED", summary="each requirement has a test that a wrong slugify fails"),
        _turn(Role.CODE_IMPLEMENTER, {"textkit/slug.py": SLUG}, changed=["digits stay", "is_slug is new"]),
        _turn(Role.CODE_CRITIC, status="VERIFIED", summary="both functions do what their requirements say"),
        _turn(Role.MUTATOR, summary="Nobody asks is_slug about a text that is none."),
        _turn(Role.FIXER, {"tests/test_slug_more.py": SLUG_LAST_TESTS}, changed=["a text that is no slug"]),
        _turn(Role.SELF_REVIEWER, status="VERIFIED", summary="the change is small and does what was asked"),
        _turn(Role.SECURITY_REVIEWER, status="VERIFIED", summary="texts in, texts out", domains=SAFE),
        _turn(Role.REPORTER, summary="told"),
    ],
    "D-2": [
        {"write": {"textkit/durations.py": DURATIONS_WRONG, "tests/test_durations.py": DURATIONS_TESTS}},
        {"write": {"textkit/durations.py": DURATIONS}},
    ],
    "D-3": [
        {"write": {"textkit/rounding.py": ROUNDING, "tests/test_rounding.py": ROUNDING_TESTS}},
        {"write": {"textkit/rounding.py": ROUNDING_MERGED}},
    ],
    "D-4": [
        {"exit": 75, "say": "the gateway said 503"},
        {"write": {"textkit/titles.py": TITLES, "tests/test_titles.py": TITLES_TESTS}},
    ],
    "D-5": [{"write": {"textkit/durations.py": WORDS, "tests/test_words.py": WORDS_TESTS}}],
}
