-- Lease before row, the order of every worker's transaction.
WITH l AS (SELECT l.item_id FROM leases l JOIN work_items i ON i.id = l.item_id
            WHERE i.project_id = %(project)s::bigint AND lower(i.story_id) = lower(%(story)s::text) FOR UPDATE OF l)
SELECT (SELECT count(*) FROM l) AS leased
