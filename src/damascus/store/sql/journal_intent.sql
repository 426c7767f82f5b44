-- A second intent adds to the first: the process of an agent that a dead worker left must not be forgotten.
INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, input)
VALUES (%(item)s::bigint, %(run)s::int, %(phase)s::text, %(step)s::text, %(key)s::text, 'intent', %(fence)s::bigint, %(input)s::jsonb)
ON CONFLICT (item_id, run_no, step, key) DO UPDATE
   SET fence = excluded.fence, input = journal.input || excluded.input, started_at = excluded.started_at
 WHERE journal.status = 'intent'
