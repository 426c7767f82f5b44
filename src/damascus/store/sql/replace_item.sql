UPDATE work_items SET title = %(title)s::text, phase = %(phase)s::text, state = 'ready', priority = %(priority)s::smallint,
    ready_at = now(), deadline_at = now() + %(slack)s::interval, depends_on = %(depends_on)s::bigint[],
    file_scope = %(file_scope)s::text[], spans = %(spans)s::scope_span[], spec = %(spec)s::bytea,
    spec_hash = %(spec_hash)s::text, spec_path = %(spec_path)s::text, acceptance = %(acceptance)s::bytea,
    rough = %(rough)s::bool, budget_cycles = %(budget)s::int, run_no = run_no + 1, fence = fence + 1, attempts = 0,
    failure_signature = NULL, failure_streak = 0, series_since = NULL, series_count = 0, series_ended = true,
    last_verdict = NULL, last_feedback = NULL, resume_phase = NULL, wait_kind = NULL, wait_key = NULL, not_before = NULL,
    rescues = 0, updated_at = now()
 WHERE id = %(id)s::bigint AND phase IN ('blocked', 'cancelled')
RETURNING id
