SELECT h.*, i.story_id, i.title, i.phase, i.attempts, i.budget_cycles, i.last_verdict, i.last_feedback, i.priority
  FROM human_issues h LEFT JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL ORDER BY i.priority NULLS LAST, h.id
