SELECT h.*, i.story_id, i.title, i.phase, i.attempts, i.budget_cycles, i.last_verdict, i.last_feedback, i.priority, i.spec_path,
       -- what the last agent of the story says that only a person can decide
       (SELECT j.output -> 'concerns' FROM journal j WHERE j.item_id = h.item_id AND j.step = 'implement' AND j.status = 'done'
         ORDER BY j.run_no DESC, j.done_at DESC LIMIT 1) AS concerns
  FROM human_issues h LEFT JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL ORDER BY i.priority NULLS LAST, h.id
