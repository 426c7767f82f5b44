-- What a person does to a story or a repository.

-- name: lock_story
-- Lease before row, the order of every worker's transaction.
WITH l AS (SELECT l.item_id FROM leases l JOIN work_items i ON i.id = l.item_id
            WHERE i.project_id = %(project)s::bigint AND lower(i.story_id) = lower(%(story)s::text) FOR UPDATE OF l)
SELECT (SELECT count(*) FROM l) AS leased;

-- name: cancel_item
UPDATE work_items SET phase = 'cancelled', state = 'resting', fence = fence + 1, resume_phase = NULL, wait_kind = NULL,
    wait_key = NULL, not_before = NULL, updated_at = now()
 WHERE id = %(id)s::bigint;

-- name: resume_item
-- A person's answer or retry: a new run and a new budget; a lease that is held is taken away by the fence.
UPDATE work_items SET phase = %(phase)s::text, state = 'ready', fence = fence + 1, run_no = run_no + 1, attempts = 0,
    failure_signature = NULL, failure_streak = 0, series_since = NULL, series_count = 0, series_ended = true, rescues = 0,
    resume_phase = NULL, wait_kind = NULL, wait_key = NULL, not_before = NULL, ready_at = now(),
    deadline_at = now() + %(slack)s::interval, answers = answers || %(answers)s::text[],
    last_feedback = last_feedback - 'halt', updated_at = now()
 WHERE id = %(id)s::bigint;

-- name: drop_barrier
-- A story whose deadline begins anew gives up what it had reserved; who waited for that looks again.
WITH gone AS (DELETE FROM scope_barriers WHERE item_id = %(item)s::bigint RETURNING item_id)
SELECT wake('scope', g.item_id::text, 2147483647) FROM (SELECT DISTINCT item_id FROM gone) g;

-- name: free_scope
SELECT free_scope(%(item)s::bigint);

-- name: hold_repo
SELECT hold_repo(%(project)s::bigint, %(repo)s::bigint, %(reason)s::text) AS hold;

-- name: release_repo
SELECT release_repo(%(project)s::bigint, %(repo)s::bigint) AS ended;

-- name: landing_begun
SELECT 1 AS found FROM journal WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int AND step = 'land' AND status = 'intent';
