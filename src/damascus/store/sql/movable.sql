-- Can anything of this project still move without a person? Waits with a wake-up are waited for.
SELECT EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state IN ('ready', 'leased'))
    OR EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'waiting'
                  AND (not_before IS NOT NULL OR wait_kind = 'landing')) AS movable
