-- A person's answer or retry: a new run and a new budget; a lease that is held is taken away by the fence.
UPDATE work_items SET phase = %(phase)s::text, state = 'ready', fence = fence + 1, run_no = run_no + 1, attempts = 0,
    failure_signature = NULL, failure_streak = 0, series_since = NULL, series_count = 0, series_ended = true, rescues = 0,
    resume_phase = NULL, wait_kind = NULL, wait_key = NULL, not_before = NULL, ready_at = now(),
    deadline_at = now() + %(slack)s::interval, answers = answers || %(answers)s::text[], updated_at = now()
 WHERE id = %(id)s::bigint
