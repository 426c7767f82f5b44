-- Whoever waits for agents that can work is due, once no question about them is open.
UPDATE work_items SET not_before = now()
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = 'agent' AND not_before IS NULL
   AND NOT EXISTS (SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                      AND h.about ->> 'about' = 'agent')
