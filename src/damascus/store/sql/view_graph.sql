-- Who works in the repositories of a project, and who waits because of the graph or a hold.
SELECT i.repo_id, i.story_id, i.phase, i.state, i.wait_kind, i.wait_key, b.story_id AS blocker,
       EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = i.id AND l.works)
           OR EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = i.id) AS works
  FROM work_items i
  LEFT JOIN work_items b ON b.id = CASE WHEN i.wait_kind = 'chain' THEN i.wait_key::bigint END
 WHERE i.id IN (SELECT w.id FROM work_items w WHERE w.project_id = %(project)s::bigint AND w.state = 'leased'
                UNION SELECT a.item_id FROM active_scopes a
                UNION (SELECT w.id FROM work_items w WHERE w.project_id = %(project)s::bigint AND w.state = 'waiting'
                          AND w.wait_kind IN ('chain', 'upstream', 'repo_full', 'hold') ORDER BY w.deadline_at, w.id LIMIT 1000))
   AND i.project_id = %(project)s::bigint
 ORDER BY i.deadline_at, i.id
