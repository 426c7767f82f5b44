SELECT story_id FROM work_items WHERE project_id = %(project)s::bigint AND state = 'leased' AND id <> %(item)s::bigint
 ORDER BY id LIMIT 20
