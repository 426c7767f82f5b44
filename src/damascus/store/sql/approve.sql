-- A person's word for the change that this run asks about is recorded as done; the run goes on as it is, at the milestone that it had.
WITH reached AS (
    SELECT body ->> 'milestone' AS milestone, body ->> 'line' AS line FROM events_outbox
     WHERE item_id = %(id)s::bigint AND kind = 'milestone.changed' AND body ->> 'milestone' <> 'BLOCKED'
     ORDER BY id DESC LIMIT 1),
said AS (
    INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, output, done_at)
    VALUES (%(id)s::bigint, %(run)s::int, %(phase)s::text, 'approved_change', %(change)s::text, 'done', %(fence)s::bigint,
            %(output)s::jsonb, clock_timestamp())),
record AS (
    INSERT INTO worker_records (item_id, worker_id, milestone, line)
    SELECT %(id)s::bigint, 'a person', milestone, line FROM reached
    ON CONFLICT (item_id) DO UPDATE SET milestone = excluded.milestone, line = excluded.line, updated_at = now())
UPDATE work_items SET phase = resume_phase, state = 'ready', fence = fence + 1, rescues = 0, resume_phase = NULL,
    ready_at = now(), deadline_at = now() + %(slack)s::interval, updated_at = now()
 WHERE id = %(id)s::bigint
