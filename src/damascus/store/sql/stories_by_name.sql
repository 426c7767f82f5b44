SELECT id, story_id, phase, state, depends_on FROM work_items
 WHERE project_id = %(project)s::bigint AND lower(story_id) = ANY (%(names)s::text[])
