UPDATE worker_records SET step = coalesce(%(step)s::text, step), substate = coalesce(%(substate)s::text, substate),
       milestone = coalesce(%(milestone)s::text, milestone), line = coalesce(%(line)s::text, line),
       progress = progress || coalesce(%(progress)s::jsonb, '{}'),
       since = CASE WHEN %(milestone)s::text IS NULL THEN since ELSE now() END, updated_at = now()
 WHERE item_id = %(item)s::bigint
