-- The holds that stop an item: of its own repository, or of the one in its chain that it waits for.
SELECT h.reason, h.created_at, coalesce(r.name, '') AS repo, h.repo_id <> i.repo_id AS elsewhere
  FROM work_items i JOIN repo_holds h ON h.repo_id = i.repo_id OR h.repo_id = CASE WHEN i.wait_kind = 'hold' THEN i.wait_key::bigint END
  JOIN repos r ON r.id = h.repo_id
 WHERE i.id = %(item)s::bigint AND h.released_at IS NULL ORDER BY h.id
