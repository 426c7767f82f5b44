SELECT h.*, i.story_id, i.title, i.phase FROM human_issues h LEFT JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.id = %(issue)s::bigint
