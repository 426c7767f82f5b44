UPDATE work_items SET
    phase = %(phase)s::text, state = %(state)s::text, attempts = %(attempts)s::int,
    last_verdict = %(verdict)s::text, last_feedback = %(feedback)s::jsonb,
    failure_signature = %(signature)s::text, failure_streak = %(streak)s::int,
    series_since = %(series_since)s::timestamptz, series_count = %(series_count)s::int, series_ended = %(series_ended)s::bool,
    wait_kind = %(wait_kind)s::text, wait_key = %(wait_key)s::text, not_before = %(not_before)s::timestamptz,
    resume_phase = %(resume)s::text,
    run_no = run_no + %(new_run)s::int,
    rescues = 0,
    base_commit = coalesce(%(base_commit)s::text, base_commit),
    candidate = coalesce(%(candidate)s::text, candidate),
    pr_url = coalesce(%(pr_url)s::text, pr_url),
    merged_commit = coalesce(%(merged_commit)s::text, merged_commit),
    spec = coalesce(%(spec)s::bytea, spec), spec_hash = coalesce(%(spec_hash)s::text, spec_hash),
    file_scope = coalesce(%(file_scope)s::text[], file_scope), spans = coalesce(%(spans)s::scope_span[], spans),
    rough = coalesce(%(rough)s::bool, rough),
    updated_at = now()
 WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint
RETURNING *, (SELECT milestone FROM worker_records WHERE item_id = work_items.id AND line IS NOT NULL) AS milestone
