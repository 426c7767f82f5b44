SELECT h.id, h.item_id, h.question, h.options, h.owner, h.answer, h.created_at, h.closed_at, i.spec_path, i.last_verdict
  FROM human_issues h JOIN work_items i ON i.id = h.item_id
 WHERE h.item_id = %(item)s::bigint ORDER BY h.id
