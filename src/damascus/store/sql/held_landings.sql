SELECT story_id, wait_key FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = 'dirty' ORDER BY story_id
