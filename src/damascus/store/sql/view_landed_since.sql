SELECT story_id FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done' AND updated_at >= %(since)s::timestamptz
 ORDER BY updated_at, id
