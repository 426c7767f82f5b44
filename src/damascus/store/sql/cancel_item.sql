UPDATE work_items SET phase = 'cancelled', state = 'resting', fence = fence + 1, resume_phase = NULL, wait_kind = NULL,
    wait_key = NULL, not_before = NULL, updated_at = now()
 WHERE id = %(id)s::bigint
