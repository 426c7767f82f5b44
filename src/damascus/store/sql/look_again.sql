-- A person has mended what CI needs: the run goes on as it is, at the milestone that it had, but for what it knew of CI. Nothing
-- else in its journal is touched.
WITH reached AS (
    SELECT body ->> 'milestone' AS milestone, body ->> 'line' AS line FROM events_outbox
     WHERE item_id = %(id)s::bigint AND kind = 'milestone.changed' AND body ->> 'milestone' <> 'BLOCKED'
     ORDER BY id DESC LIMIT 1),
forgotten AS (
    DELETE FROM journal WHERE item_id = %(id)s::bigint AND run_no = %(run)s::int
       AND step IN ('ci', 'ci_since', 'ci_rerun', 'diagnose')),
record AS (
    INSERT INTO worker_records (item_id, worker_id, milestone, line)
    SELECT %(id)s::bigint, 'a person', milestone, line FROM reached
    ON CONFLICT (item_id) DO UPDATE SET milestone = excluded.milestone, line = excluded.line, updated_at = now()),
item AS (
    UPDATE work_items SET phase = resume_phase, state = 'ready', fence = fence + 1, rescues = 0, resume_phase = NULL,
        ready_at = now(), deadline_at = now() + %(slack)s::interval, updated_at = now()
     WHERE id = %(id)s::bigint)
SELECT milestone FROM reached
