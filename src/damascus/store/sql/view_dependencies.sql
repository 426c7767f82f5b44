SELECT d.story_id, d.phase FROM work_items i JOIN work_items d ON d.id = ANY (i.depends_on)
 WHERE i.id = %(item)s::bigint ORDER BY d.id
