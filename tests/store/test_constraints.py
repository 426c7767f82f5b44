"""Each constraint by its name: a row that breaks it is refused by plain SQL, whoever writes it."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from damascus.domain.events import EventKind
from damascus.domain.halt import HaltReason
from damascus.domain.merge_queue import EntryState
from damascus.domain.notices import NoticeTarget
from damascus.domain.verdict import ACTIVE, Milestone, Phase
from damascus.domain.waits import ItemState, WaitKind
from damascus.store.cursors import StreamReader
from damascus.store.db import Database
from tests.store.lane import Lane

ITEM = "(SELECT min(id) FROM work_items)"
PROJECT = "(SELECT min(id) FROM projects)"
REPO = "(SELECT min(id) FROM repos)"
JOURNAL = "INSERT INTO journal (item_id, run_no, phase, step, status, fence) VALUES"
EVENT = "INSERT INTO events_outbox (project_id, item_id, kind) VALUES"
ENTRY = "INSERT INTO queue_entries (item_id, repo_id, target, base, commit, state) VALUES"
ISSUE = "INSERT INTO human_issues (project_id, item_id, question, kind) VALUES"
SPENT = "INSERT INTO spending (project_id, item_id, run_no, step, fence, role, model, state) VALUES"
RECORD = "INSERT INTO worker_records (item_id, worker_id, milestone) VALUES"
RESERVED = "INSERT INTO spending (project_id, item_id, run_no, step, fence, role, model, {}) VALUES"
FLAKY = "INSERT INTO flaky_tests (project_id, repo_id, job, test, last_sha) VALUES"
LOCK = "INSERT INTO repo_locks (item_id, repo_id, works) VALUES"
COPIED = "project_id, project, repo_id, title, phase, state, spec, spec_hash, spec_path, branch"
EVIDENCE = "INSERT INTO evidence (key, repo_id, tree, command, environment, gate_version, result) VALUES"
OWNER = "INSERT INTO file_owners (repo_id, path, item_id) VALUES"
SHOT = "INSERT INTO screenshots (item_id, page, viewport, sha256, mark, png, browser, accepted_at) VALUES"
HASHED = "encode(sha256('x'::bytea), 'hex'), 'm'"
PATTERN = "INSERT INTO pattern_uses (item_id, pattern, state) VALUES"
ARTIFACT = "INSERT INTO artifacts (item_id, name, version, run_no, step, sha256, content) VALUES"
PASSED = """'{"exit_code": 0, "timed_out": false}'"""
DECIDED = "INSERT INTO decisions (project_id, number, item_id, title) VALUES"
ASSUMED = "INSERT INTO assumptions (project_id, number, item_id, assumption) VALUES"
SHIP = "INSERT INTO ships (project_id, declared_by,"
TOKEN = "INSERT INTO tokens (project_id, name, scope, sha256, made_by) VALUES"
CURSOR = "INSERT INTO stream_cursors (project_id, reader, seq) VALUES"
NOTICE = "INSERT INTO notices (project_id, target, first_seq, last_seq, title, lines, sent_at, given_up_at) VALUES"
RAISED = "INSERT INTO budget_raises (project_id, unit, amount) VALUES"

CHECKS = {
    "waiting_names_its_reason": "UPDATE work_items SET state = 'waiting'",
    "resting_phases": "UPDATE work_items SET state = 'resting'",
    "review_needs_a_pull": "UPDATE work_items SET phase = 'review'",
    "done_means_landed": "UPDATE work_items SET phase = 'done', state = 'resting', pr_url = 'local#1'",
    "stale_names_its_change": "UPDATE work_items SET phase = 'stale', state = 'resting'",
    "done_has_no_change": "UPDATE work_items SET phase = 'done', state = 'resting', pr_url = 'local#1',"
    " merged_commit = 'a', change = '{}'",
    "blocked_resumes_somewhere": "UPDATE work_items SET phase = 'blocked', state = 'resting'",
    "work_items_phase_check": "UPDATE work_items SET phase = 'building'",
    "work_items_state_check": "UPDATE work_items SET state = 'sleeping'",
    "work_items_budget_cycles_check": "UPDATE work_items SET budget_cycles = 0",
    "work_items_priority_check": "UPDATE work_items SET priority = 4",
    "work_items_resume_phase_check": "UPDATE work_items SET phase = 'blocked', state = 'resting',"
    " resume_phase = 'done'",
    "work_items_wait_kind_check": "UPDATE work_items SET state = 'waiting', wait_kind = 'weather'",
    "worker_records_milestone_check": f"{RECORD} ({ITEM}, 'w', 'LOST')",
    "journal_phase_check": f"{JOURNAL} ({ITEM}, 1, 'blocked', 's', 'done', 1)",
    "journal_status_check": f"{JOURNAL} ({ITEM}, 1, 'build', 's', 'half', 1)",
    "decisions_from_one": f"{DECIDED} ({PROJECT}, 0, {ITEM}, 't')",
    "assumptions_from_one": f"{ASSUMED} ({PROJECT}, 0, {ITEM}, 'a')",
    "events_outbox_kind_check": f"{EVENT} ({PROJECT}, {ITEM}, 'item.eaten')",
    "queue_entries_state_check": f"{ENTRY} ({ITEM}, {REPO}, 'main', 'a', 'b', 'blue')",
    "human_issues_kind_check": f"{ISSUE} ({PROJECT}, {ITEM}, 'why?', 'rhetorical')",
    "spending_state_check": f"{SPENT} ({PROJECT}, {ITEM}, 1, 's', 1, 'r', 'm', 'lost')",
    "spending_reserved_tokens_check": f"{RESERVED.format('reserved_tokens')}"
    f" ({PROJECT}, {ITEM}, 1, 's', 1, 'r', 'm', -1)",
    "spending_reserved_microdollars_check": f"{RESERVED.format('reserved_microdollars')}"
    f" ({PROJECT}, {ITEM}, 1, 's', 1, 'r', 'm', -1)",
    "budget_raises_unit_check": f"{RAISED} ({PROJECT}, 'euros', 1)",
    "budget_raises_amount_check": f"{RAISED} ({PROJECT}, 'tokens', 0)",
    "repos_ci_state_check": "UPDATE repos SET ci_state = 'amber'",
    "repos_max_workers_check": "UPDATE repos SET max_workers = -1",
    "queues_width_check": f"INSERT INTO queues (repo_id, target, width) VALUES ({REPO}, 'other', 0)",
    "repo_edges_check": f"INSERT INTO repo_edges VALUES ({REPO}, {REPO})",
    "evidence_is_a_pass": f"{EVIDENCE} (repeat('a', 64), {REPO}, 't', 'c', 'e', 'v',"
    """ '{"exit_code": 1, "timed_out": false}')""",
    "evidence_key_is_a_hash": f"{EVIDENCE} ('k', {REPO}, 't', 'c', 'e', 'v', {PASSED})",
    "screenshots_are_bounded": f"{SHOT} ({ITEM}, '/', '1x1', encode(sha256(''::bytea), 'hex'), 'm', '', 'b', NULL)",
    "screenshots_are_what_they_say": f"{SHOT} ({ITEM}, '/', '1x1', 'another', 'm', 'x', 'b', NULL)",
    "screenshots_accepted_by_somebody": f"{SHOT} ({ITEM}, '/', '1x1', {HASHED}, 'x', 'b', now())",
    "artifacts_are_named_below_the_run": f"{ARTIFACT} ({ITEM}, 'build/../../etc', 1, 1, 's', 'h', 'x')",
    "artifacts_are_capped": f"{ARTIFACT} ({ITEM}, 'build/a', 1, 1, 's', 'h', decode(repeat('00', 2000001), 'hex'))",
    "artifacts_version_from_one": f"{ARTIFACT} ({ITEM}, 'build/a', 0, 1, 's', 'h', 'x')",
    "pattern_uses_state_check": f"{PATTERN} ({ITEM}, 'PATTERN-001', 'liked')",
    "repo_holds_halt_check": f"INSERT INTO repo_holds (repo_id, reason, halt) VALUES ({REPO}, 'x', 'weather')",
    "ships_verdict_check": f"{SHIP} verdict, receipt) VALUES ({PROJECT}, 'Ada', 'MAYBE', '{{}}')",
    "ships_verdict_has_its_receipt": f"{SHIP} verdict) VALUES ({PROJECT}, 'Ada', 'SHIP')",
    "ships_undone_by_somebody": f"{SHIP} undone_at) VALUES ({PROJECT}, 'Ada', now())",
    "tokens_scope_check": f"{TOKEN} ({PROJECT}, 'n', 'own', repeat('a', 64), 'Ada')",
    "tokens_keep_a_hash": f"{TOKEN} ({PROJECT}, 'n', 'read', 'damascus_1_secret', 'Ada')",
    "queue_only_one_check": "UPDATE queue SET only_one = false",
    "stream_only_one_check": "UPDATE stream SET only_one = false",
    "stream_cursors_reader_check": f"{CURSOR} ({PROJECT}, 'somebody', 0)",
    "notices_target_check": f"{NOTICE} ({PROJECT}, 'pigeon', 1, 2, 't', '[]', NULL, NULL)",
    "notices_end_once": f"{NOTICE} ({PROJECT}, 'webhook', 1, 2, 't', '[]', now(), now())",
}  # fmt: skip

KEYS = {
    "leases_item_id_fkey": "INSERT INTO leases (item_id, fence, worker_id, expires_at) VALUES (0, 1, 'w', now())",
    "active_scopes_item_id_fkey": "INSERT INTO active_scopes VALUES (0, '[a,b)')",
    "scope_barriers_item_id_fkey": "INSERT INTO scope_barriers VALUES (0, now(), '[a,b)')",
    "worker_records_item_id_fkey": "INSERT INTO worker_records (item_id, worker_id) VALUES (0, 'w')",
    "journal_item_id_fkey": f"{JOURNAL} (0, 1, 'build', 's', 'done', 1)",
    "events_outbox_project_id_fkey": f"{EVENT} (0, {ITEM}, 'item.claimed')",
    "events_outbox_item_id_fkey": f"{EVENT} ({PROJECT}, 0, 'item.claimed')",
    "evidence_repo_id_fkey": f"{EVIDENCE} (repeat('a', 64), 0, 't', 'c', 'e', 'v', {PASSED})",
    "file_owners_repo_id_fkey": f"{OWNER} (0, 'a.py', {ITEM})",
    "file_owners_item_id_fkey": f"{OWNER} ({REPO}, 'a.py', 0)",
    "screenshots_item_id_fkey": f"{SHOT} (0, '/', '1x1', {HASHED}, 'x', 'b', NULL)",
    "artifacts_item_id_fkey": f"{ARTIFACT} (0, 'build/a', 1, 1, 's', 'h', 'x')",
    "pattern_uses_item_id_fkey": f"{PATTERN} (0, 'PATTERN-001', 'offered')",
    "decisions_project_id_fkey": f"{DECIDED} (0, 1, {ITEM}, 't')",
    "decisions_item_id_fkey": f"{DECIDED} ({PROJECT}, 1, 0, 't')",
    "assumptions_project_id_fkey": f"{ASSUMED} (0, 1, {ITEM}, 'a')",
    "assumptions_item_id_fkey": f"{ASSUMED} ({PROJECT}, 1, 0, 'a')",
    "projections_repo_id_fkey": "INSERT INTO projections (repo_id, path, sha256) VALUES (0, 'a', 'h')",
    "event_numbers_event_id_fkey": "INSERT INTO event_numbers VALUES (99, 0)",
    "queues_repo_id_fkey": "INSERT INTO queues (repo_id, target) VALUES (0, 'main')",
    "queue_entries_item_id_fkey": f"{ENTRY} (0, {REPO}, 'main', 'a', 'b', 'green')",
    "queue_entries_queue_fkey": f"{ENTRY} ({ITEM}, {REPO}, 'elsewhere', 'a', 'b', 'green')",
    "repo_locks_item_id_fkey": f"{LOCK} (0, {REPO}, true)",
    "repo_locks_repo_id_fkey": f"{LOCK} ({ITEM}, 0, true)",
    "repo_edges_up_fkey": f"INSERT INTO repo_edges VALUES (0, {REPO})",
    "repo_edges_down_fkey": f"INSERT INTO repo_edges VALUES ({REPO}, 0)",
    "repo_holds_repo_id_fkey": "INSERT INTO repo_holds (repo_id, reason) VALUES (0, 'x')",
    "repos_project_id_fkey": "UPDATE repos SET project_id = 0",
    "spending_project_id_fkey": f"{SPENT} (0, {ITEM}, 1, 's', 1, 'r', 'm', 'settled')",
    "spending_item_id_fkey": f"{SPENT} ({PROJECT}, 0, 1, 's', 1, 'r', 'm', 'settled')",
    "budget_raises_project_id_fkey": f"{RAISED} (0, 'tokens', 1)",
    "human_issues_project_id_fkey": f"{ISSUE} (0, {ITEM}, 'why?', 'question')",
    "human_issues_item_id_fkey": f"{ISSUE} ({PROJECT}, 0, 'why?', 'question')",
    "flaky_tests_project_id_fkey": f"{FLAKY} (0, {REPO}, 'j', 't', 'x')",
    "flaky_tests_repo_id_fkey": f"{FLAKY} ({PROJECT}, 0, 'j', 't', 'x')",
    "stream_cursors_project_id_fkey": f"{CURSOR} (0, 'notifier', 0)",
    "event_counts_project_id_fkey": "INSERT INTO event_counts (project_id, kind, n) VALUES (0, 'story.landed', 1)",
    "notices_project_id_fkey": f"{NOTICE} (0, 'webhook', 1, 2, 't', '[]', NULL, NULL)",
    "ships_project_id_fkey": f"{SHIP} note) VALUES (0, 'Ada', '')",
    "tokens_project_id_fkey": f"{TOKEN} (0, 'n', 'read', repeat('a', 64), 'Ada')",
    "audit_project_id_fkey": "INSERT INTO audit (project_id, who, by, act, target, origin)"
    " VALUES (0, 'w', 'b', 'a', 't', 'o')",
    "work_items_project_id_fkey": "UPDATE work_items SET project_id = 0",
    "work_items_repo_id_fkey": "UPDATE work_items SET repo_id = 0",
    "workers_project_id_fkey": "INSERT INTO workers (id, project_id, host, pid, slots) VALUES ('w', 0, 'h', 1, 1)",
}  # fmt: skip

UNIQUE = {
    "work_items_uuid_key": f"INSERT INTO work_items (uuid, story_id, {COPIED})"
    f" SELECT uuid, 'Z', {COPIED} FROM work_items",
    "ships_one_at_a_time": f"{SHIP} note) SELECT {PROJECT}, name, '' FROM unnest(ARRAY['Ada', 'Bob']) name",
    "work_items_story": f"INSERT INTO work_items (story_id, {COPIED}) SELECT 'a', {COPIED} FROM work_items",
}

WORDS: dict[str, set[str]] = {
    "work_items_phase_check": set(Phase),
    "work_items_state_check": set(ItemState),
    "work_items_resume_phase_check": set(ACTIVE),
    "work_items_wait_kind_check": set(WaitKind),
    "worker_records_milestone_check": set(Milestone),
    "journal_phase_check": set(ACTIVE),
    "journal_status_check": {"intent", "done"},
    "events_outbox_kind_check": set(EventKind),
    "queue_entries_state_check": set(EntryState),
    "human_issues_kind_check": {"question", "write"},
    "pattern_uses_state_check": {"offered", "applied"},
    "repo_holds_halt_check": set(HaltReason),
    "tokens_scope_check": {"read", "act"},
    "stream_cursors_reader_check": set(StreamReader),
    "notices_target_check": set(NoticeTarget),
}
"""What the code says. A word more or less there needs a migration that changes the constraint."""

ELSEWHERE = {"events_outbox_kind_check", "work_items_resume_phase_check", "journal_phase_check"}
"""Their comment refers to where the words are explained."""


@pytest.fixture
def lane(db: Database) -> Lane:
    made = Lane(db)
    made.add("A")
    made.execute(f"INSERT INTO queues (repo_id, target) VALUES ({REPO}, 'main')")
    return made


def constraints(lane: Lane, kind: str) -> Iterator[str]:
    rows = lane.query("SELECT conname FROM pg_constraint WHERE contype = %s AND connamespace = 2200 ORDER BY 1", kind)
    return (row["conname"] for row in rows)


@pytest.mark.parametrize("name", CHECKS)
def test_a_row_that_breaks_a_rule_is_refused_by_its_name(lane: Lane, name: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        lane.execute(CHECKS[name])
    assert caught.value.diag.constraint_name == name


@pytest.mark.parametrize("name", KEYS)
def test_a_row_that_names_what_is_not_there_is_refused_by_its_name(lane: Lane, name: str) -> None:
    with pytest.raises(psycopg.errors.ForeignKeyViolation) as caught:
        lane.execute(KEYS[name])
    assert caught.value.diag.constraint_name == name


@pytest.mark.parametrize("name", UNIQUE)
def test_a_second_row_of_the_same_story_is_refused(lane: Lane, name: str) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation) as caught:
        lane.execute(UNIQUE[name])
    assert caught.value.diag.constraint_name == name


def test_every_rule_and_every_key_of_the_schema_is_tried_here(lane: Lane) -> None:
    assert sorted(CHECKS) == list(constraints(lane, "c"))
    assert sorted(KEYS) == list(constraints(lane, "f"))


def test_every_column_that_names_a_row_has_its_key(lane: Lane) -> None:
    """Beside that of budget_raises, where 0 stands for the whole project."""
    bare = lane.query(
        "SELECT a.attrelid::regclass::text || '.' || a.attname AS name"
        "  FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid"
        " WHERE t.relnamespace = 2200 AND t.relkind = 'r'"
        "   AND a.attname IN ('item_id', 'project_id', 'repo_id', 'event_id') AND NOT EXISTS ("
        "       SELECT FROM pg_constraint k"
        "        WHERE k.contype = 'f' AND k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey))"
    )
    assert [row["name"] for row in bare] == ["budget_raises.item_id"]


def test_nothing_that_history_names_can_be_deleted(lane: Lane) -> None:
    item = lane.claim_one()
    for table, key in (("work_items", "_item_id_fkey"), ("projects", "_project_id_fkey"), ("repos", "_repo_id_fkey")):
        with pytest.raises(psycopg.errors.ForeignKeyViolation) as caught:
            lane.execute(f"DELETE FROM {table}")
        assert str(caught.value.diag.constraint_name).endswith(key)
    lane.land(item)
    assert lane.query("SELECT 1 FROM leases UNION ALL SELECT 1 FROM active_scopes") == [], "what is let go of goes"


@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_a_constraint_are_those_of_the_code(lane: Lane, name: str) -> None:
    [row] = lane.query("SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = %s", name)
    assert set(re.findall(r"'([\w.]+)'", row["text"])) == WORDS[name]


@pytest.mark.parametrize("name", CHECKS)
def test_every_rule_is_told_in_a_sentence_and_every_word_of_it(lane: Lane, name: str) -> None:
    [row] = lane.query(
        "SELECT obj_description(oid, 'pg_constraint') AS told FROM pg_constraint WHERE conname = %s", name
    )
    assert row["told"]
    if name in WORDS and name not in ELSEWHERE:
        assert {line.split(": ")[0] for line in row["told"].splitlines()} == WORDS[name]
