SELECT id, question, options, owner, answer, created_at, closed_at FROM human_issues
 WHERE item_id = %(item)s::bigint ORDER BY id
