SELECT repo_id FROM work_items WHERE project_id = %(project)s::bigint AND lower(story_id) = lower(%(story)s::text)
