"""`damascus token`: made, listed, revoked; the token itself is shown once and kept nowhere."""

import hashlib
import json

import pytest

from damascus.people import tokens
from tests.cli.conftest import Cli
from tests.yard import Yard


@pytest.mark.req("X9")
def test_a_token_is_shown_once_and_only_its_hash_is_kept(yard: Yard, cli: Cli) -> None:
    made = cli("token", "new", "--scope", "act", "--name", "a\x1b[31m robot", "--expires", "2", "--json").json
    assert (made["scope"], made["name"], made["valid"]) == ("act", "a robot", True)
    secret = made["token"].split("_", 2)[2]
    [row] = yard.query("SELECT * FROM tokens")
    assert row["sha256"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in json.dumps([row], default=str)
    listed = cli("token", "list")
    assert "a robot" in listed.out and secret not in listed.out
    [told] = cli("token", "list", "--json").json["tokens"]
    assert "sha256" not in told and "token" not in told
    known = tokens.known(yard.db, yard.project, made["token"])
    assert known is not None and (known.scope, known.id) == ("act", made["id"])


@pytest.mark.req("X9")
def test_what_is_wrong_expired_or_revoked_is_nobodys(yard: Yard, cli: Cli) -> None:
    first = cli("token", "new", "--scope", "read", "--json").json["token"]
    other = cli("token", "new", "--scope", "read", "--json").json["token"]
    mixed = f"damascus_{first.split('_')[1]}_{other.split('_', 2)[2]}"
    for wrong in (mixed, first[:-1], f"{first}x", f" {first}", first.upper(), "damascus_1_", ""):
        assert tokens.known(yard.db, yard.project, wrong) is None, wrong
    assert tokens.known(yard.db, yard.project, first) is not None
    number = first.split("_")[1]
    assert f"Token {number} (a program) is revoked." in cli("token", "revoke", number).out
    assert tokens.known(yard.db, yard.project, first) is None
    assert "is revoked already" in cli("token", "revoke", number).error
    assert "there is no token 99" in cli("token", "revoke", "99").error
    yard.query("UPDATE tokens SET expires_at = now() RETURNING 1")
    assert tokens.known(yard.db, yard.project, other) is None
    assert "expired" in cli("token", "list").out and "revoked" in cli("token", "list").out


@pytest.mark.req("X9")
def test_a_token_is_of_one_project(yard: Yard, cli: Cli) -> None:
    shown = cli("token", "new", "--scope", "read", "--json").json["token"]
    yard.query("INSERT INTO projects (uuid, name) VALUES (gen_random_uuid(), 'another') RETURNING 1")
    yard.query("UPDATE tokens SET project_id = (SELECT max(id) FROM projects) RETURNING 1")
    assert tokens.known(yard.db, yard.project, shown) is None


@pytest.mark.req("X9")
def test_words_that_mean_nothing_are_refused(yard: Yard, cli: Cli) -> None:
    for words, told in (
        (("--scope", "all"), "there is no scope 'all'"),
        (("--scope", "read", "--expires", "0"), "from 1 to 3650 days"),
        (("--scope", "read", "--name", "x" * 101), "longer than 100"),
    ):
        ran = cli("token", "new", *words)
        assert ran.code == 2 and told in ran.error
    assert cli("token", "list").out.startswith("There is no token.")
