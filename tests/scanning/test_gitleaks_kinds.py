"""Every kind of secret that gitleaks lists is found by a rule of ours, or it is said why not; what only looks like it
is not found."""

import pytest

from damascus.scanning.patterns import MARKED, MARKS, generic_kinds, known_kinds, named_kinds
from damascus.scanning.shapes import PREFIXED
from tests.scanning.gitleaks_kinds import ASSIGNED, COVERED, NONE, REQUEST, SERVICE, URL, by_name, by_shape

FILE = "deploy/settings.yaml"


def kinds_of(line: str) -> set[str]:
    return known_kinds(line) | generic_kinds(FILE, line)


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", COVERED)
def test_it_is_found_by_the_rule_that_the_table_names(kind: str) -> None:
    rule, line = COVERED[kind]
    assert rule in kinds_of(line), line


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", by_shape())
def test_a_shape_is_found_wherever_it_stands_and_half_of_it_is_nothing(kind: str) -> None:
    rule, token = COVERED[kind]
    for line in (f"x = '{token}'", f"- {token}", f"run --with {token} now", f"{token}"):
        assert rule in named_kinds(line), line
    if rule != "private key":
        near = token[: min(len(token) - 3, 18)]
        assert kinds_of(f"x = '{near}'") == kinds_of(f"# such as {near}…") == set(), near


@pytest.mark.req("A10")
@pytest.mark.parametrize("kind", by_name())
def test_a_services_name_beside_what_is_no_key_is_nothing(kind: str) -> None:
    name = COVERED[kind][1].partition(" ")[0].strip(":")
    for value in (
        f'os.environ["{name.upper()}"]', f'"https://{name}.example.org/v2/keys/1"', f'"{name}_integration_module"',
        '"your-key-goes-here-1234"', f'"${{{name}}}"', f"get_{name}_client(1234567890123456)", '"00000000000000000000"',
    ):  # fmt: skip
        assert kinds_of(f"{name} = {value}") == set(), value


@pytest.mark.parametrize(
    "line",
    [
        'curl -H "Authorization: Bearer $TOKEN" https://api.internal/',
        'curl -H "Authorization: Bearer <your token here>" https://api.internal/',
        "curl -u joe:$PASSWORD https://api.internal/",
        "curl -u joe https://api.internal/ -o file:12345678",
        'headers = {"Authorization": f"Bearer {token}"}',
        "authorization: bearer authentication is described in RFC 6750",
    ],
)
def test_a_request_without_credentials_is_nothing(line: str) -> None:
    assert kinds_of(line) == set()


def test_the_table_holds_every_rule_and_no_kind_twice() -> None:
    assert not set(COVERED) & set(NONE) and len(COVERED) > 200
    ours = {rule for rule, _ in COVERED.values()}
    assert ours <= set(PREFIXED) | {SERVICE, ASSIGNED, REQUEST, URL}
    beyond = set(PREFIXED) - ours
    assert beyond == {
        "Atlassian token", "Azure storage key", "Discord token", "Docker token", "Figma token", "Google OAuth token",
        "Groq key", "OpenRouter key", "Replicate token", "Supabase token", "xAI key",
    }, "what gitleaks does not list"  # fmt: skip


def test_every_kind_is_looked_for_by_a_text_that_its_keys_have() -> None:
    assert {kind for _, kind in MARKED} == set(PREFIXED) >= set(MARKS)
    assert [kind for mark, kind in MARKED if not mark] == []
