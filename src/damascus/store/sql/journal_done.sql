INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, input, output, started_at, done_at)
VALUES (%(item)s::bigint, %(run)s::int, %(phase)s::text, %(step)s::text, %(key)s::text, 'done', %(fence)s::bigint,
        %(input)s::jsonb, %(output)s::jsonb, clock_timestamp() - %(ago)s::interval, clock_timestamp())
ON CONFLICT (item_id, run_no, step, key)
DO UPDATE SET status = 'done', output = excluded.output, done_at = excluded.done_at, fence = excluded.fence
 WHERE journal.status = 'intent'
