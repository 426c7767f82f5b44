SELECT run_no, phase, step, key, status, started_at, done_at, input, output FROM journal
 WHERE item_id = %(item)s::bigint AND run_no >= %(run)s::int
 ORDER BY run_no, coalesce(done_at, 'infinity'), started_at
