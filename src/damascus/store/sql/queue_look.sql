SELECT q.version, q.width, e.item_id, e.base, e.commit, e.state
  FROM queues q LEFT JOIN queue_entries e ON e.repo_id = q.repo_id AND e.target = q.target
 WHERE q.repo_id = %(repo)s::bigint AND q.target = %(target)s::text ORDER BY e.pos
