-- Stories whose open question is about this budget: one answer serves them all.
SELECT i.story_id FROM human_issues h JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL AND i.phase = 'blocked'
   AND h.options[1] = %(option)s::text ORDER BY i.priority, i.id
