-- Whoever waits for agents that can work goes on, once no question about them is open.
UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = 'agent'
   AND NOT EXISTS (SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                      AND h.about ->> 'about' = 'agent')
