SELECT h.reason, h.created_at FROM repo_holds h JOIN work_items i ON i.repo_id = h.repo_id
 WHERE i.id = %(item)s::bigint AND h.released_at IS NULL ORDER BY h.id
