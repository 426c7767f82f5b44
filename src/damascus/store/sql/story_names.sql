SELECT story_id FROM work_items WHERE project_id = %(project)s::bigint ORDER BY id
