SELECT h.repo_id, h.reason, h.created_at FROM repo_holds h JOIN repos r ON r.id = h.repo_id
 WHERE r.project_id = %(project)s::bigint AND h.released_at IS NULL ORDER BY h.id
